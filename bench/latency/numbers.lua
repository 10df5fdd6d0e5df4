-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Parses a number of several megabytes, and one after as many blanks.

local size = 3 * 1024 * 1024
local digits, blanks = ("1"):rep(size), (" "):rep(size) .. "7"

function run()
  if tonumber(digits) ~= math.huge or tonumber(blanks) ~= 7 then error("cannot be") end
  if tonumber(digits, 9) ~= 2 ^ 64 then error("cannot be") end
end
