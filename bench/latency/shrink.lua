-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Empties a large array, so that the rest moves to the hash part at once; walks an empty table; and
-- makes the string table grow and shrink.

function run()
  collectgarbage("collect")  -- left over from a signal
  local t = {}
  for i = 1, 400000 do t[i] = i end
  for i = 1, 399000 do t[i] = nil end
  t.x = 1
  for _ in pairs(t) do end
  t = nil
  local s = {}
  for i = 1, 60000 do s[i] = "s" .. i end
  s = nil
  collectgarbage("collect")
end
