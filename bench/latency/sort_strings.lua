-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Sorts in C, comparing long strings that differ at their ends.

local prefix = string.rep("x", 4000)
local t, n, turn = {}, 1500, 0

for i = 1, n do t[i] = prefix .. (i * 7919) % n end

function run()
  turn = turn + 1
  for i = 1, n, 2 do
    local j = (i * 31 + turn) % n + 1
    t[i], t[j] = t[j], t[i]
  end
  table.sort(t)
end
