-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
local seed = 1
local function random()
	seed = seed * 16807 % 2147483647
	return seed % 2 == 0
end
function run()
	local t = {}
	for i = 1, 1000 do t[i] = i end
	while true do pcall(table.sort, t, random) end
end
