-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	local t = { 0 }
	while true do t[1] = t[1] + 1 end
end
