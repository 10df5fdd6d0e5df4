-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Searches with a pattern that backtracks repeatedly.

local s = string.rep("x", 250)

function run()
  if s:find(".-.-y") then error("cannot be") end
end
