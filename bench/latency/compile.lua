-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Compiles traces of the maximum length, new ones in each call.

local lines = { "local x = ...", "for i = 1, 200 do" }
for i = 1, 300 do
  lines[#lines + 1] = ("x = (x * %d + i) %% 1000003"):format(i + 2)
end
lines[#lines + 1] = "end return x"
local source = table.concat(lines, "\n")

function run()
  return load(source)(1)
end
