-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Sorts in C, comparing numbers.

local n, seed = 30000, 1
local t = {}

function run()
  for i = 1, n do
    seed = (seed * 16807) % 2147483647
    t[i] = seed
  end
  table.sort(t)
end
