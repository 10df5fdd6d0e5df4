-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS | ETIME
function run()
	local t = {}
	for i = 1, math.huge do t[i] = loadstring("return function() return " .. i .. " end") end
end
