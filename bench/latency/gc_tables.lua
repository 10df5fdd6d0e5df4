-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Collects garbage in a heap full of tables that stay alive.

local list
for i = 1, 60000 do
  list = { next = list, i, tostring(i) }
end

function run()
  collectgarbage("collect")
  if not list then error("cannot be") end
end
