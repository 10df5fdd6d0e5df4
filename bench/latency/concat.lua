-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Joins very many pieces in one C call.

local t = {}
for i = 1, 200000 do t[i] = i % 100 end

function run()
  return #table.concat(t, ",")
end
