-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Full collections of the largest possible heap.
-- expect: ETIME
-- memory-limit: 16384
function run()
	local t = {}
	for i = 1, 60000 do t[i] = { i, {} } end
	while true do collectgarbage("collect") end
end
