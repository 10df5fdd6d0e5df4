-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS
function run()
	local t = {}
	for i = 1, math.huge do t[i + 0.5] = i end
end
