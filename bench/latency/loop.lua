-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The ordinary case: a loop.

function run()
  local x = 0
  for i = 1, 2e6 do x = (x + i) % 1000 end
  return x
end
