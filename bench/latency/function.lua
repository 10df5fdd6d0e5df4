-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Finishes compiling a long function; traverses a long, empty table.

local statements = ("x() "):rep(60000)
local nils = {}
for i = 1, 400000 do nils[i] = i end
for i = 1, 400000 do nils[i] = nil end

function run()
  load(statements)
  table.maxn(nils)
  next(nils)
end
