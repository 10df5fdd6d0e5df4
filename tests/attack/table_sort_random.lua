-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	local t = {}
	for i = 1, 1000 do t[i] = i end
	while true do pcall(table.sort, t, function() return math.random() < 0.5 end) end
end
