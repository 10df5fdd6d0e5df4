-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Formats that have many parts, one long part, and many flags.

local escapes = ("%%"):rep(1000000)
local text = ("a"):rep(2000000)
local flags = "%" .. ("-"):rep(2000000) .. "d"

function run()
  string.format(escapes)
  string.format(text)
  pcall(string.format, flags, 1)
end
