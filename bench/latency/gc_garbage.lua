-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Collects a heap full of garbage: all of it is swept.

function run()
  local list
  for i = 1, 60000 do
    list = { next = list, i, tostring(i) }
  end
  list = nil
  collectgarbage("collect")
end
