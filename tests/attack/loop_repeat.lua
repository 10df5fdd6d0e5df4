-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	local n = 0
	repeat n = n + 1 until n < 0
end
