-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
-- memory-limit: 8192
function run()
	local t = {}
	for i = 1, 5000 do t[i] = i end
	while true do select("#", unpack(t)) end
end
