-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Searches for long strings, by long patterns, for long sets and the ends of long strings; replaces
-- by long ones.

local text = ("x"):rep(2000000)
local set = "[" .. text .. "]"
local open = "(" .. text

function run()
  local found = ("a"):find(text)
  found = ("abc"):find(set)
  found = text:match(text)
  found = open:find("%b()")
  found = text:find("^x*y")
  return #("y"):gsub("y", text)
end
