-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Makes, reverses, changes and searches strings of 1 MiB, each in one C call.

local size, turn = 1024 * 1024, 0

function run()
  turn = turn + 1
  local s = string.rep("a", size) .. turn
  local n = #s:reverse()
  n = n + #s:upper()
  if s:find("b", 1, true) then error("cannot be") end
  collectgarbage("collect")
  return n
end
