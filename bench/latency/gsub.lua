-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Replaces in a long string, with a table.

local s = string.rep("one two three ", 20000)
local words = { one = "1", two = "zwei" }

function run()
  return #s:gsub("%w+", words)
end
