-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Parses a long source.

local lines = {}
for i = 1, 8000 do
  lines[i] = "x = { a = " .. i .. ", 'text', y or z, f(1, 2) } -- comment"
end
local source = table.concat(lines, "\n", 1, 4000)

function run()
  if not load(source) then error("cannot be") end
end
