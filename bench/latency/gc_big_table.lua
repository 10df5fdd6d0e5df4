-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Marks one table with very many fields.

local t = {}
for i = 1, 200000 do t[i] = true end
for i = 1, 100000 do t["k" .. i] = i end

function run()
  t[1] = {}
  collectgarbage("collect")
end
