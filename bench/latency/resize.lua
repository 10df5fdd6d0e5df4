-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Grows a table: each resize moves all elements.

function run()
  local t = {}
  for i = 1, 120000 do t[i * 3 + 0.5] = i end
  t = nil
  collectgarbage("collect")
end
