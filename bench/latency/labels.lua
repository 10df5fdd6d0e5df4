-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Parses a block with many labels and even more jumps, which must all be compared.

local lines = {}
for i = 1, 2000 do
  lines[i] = "::l" .. i .. ":: x = 1"
end
for i = 1, 8000 do
  lines[#lines + 1] = "goto out"
end
local source = "do if x then " .. table.concat(lines, " ") .. " end end"

function run()
  load(source)
end
