-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	for _ = 1, math.huge do end
end
