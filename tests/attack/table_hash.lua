-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS
function run()
	local t = {}
	for i = 1, math.huge do t[-i] = i end
end
