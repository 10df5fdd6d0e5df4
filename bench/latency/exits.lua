-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Compiles very many side traces, for branches taken in turn.

local lines = { "local n = 0", "for i = 1, 20000 do", "local k = i * 7 % 61" }
for i = 1, 60 do
  lines[#lines + 1] = ("if k == %d then n = n + %d end"):format(i, i)
end
lines[#lines + 1] = "end return n"
local source = table.concat(lines, "\n")

function run()
  return load(source)()
end
