-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Compares strings of megabytes that differ at their ends, and searches one.

local a = ("a"):rep(3 * 1024 * 1024)
local b = a .. "b"

function run()
  if b < a then error("cannot be") end
  if a:find("b", 1, true) then error("cannot be") end
end
