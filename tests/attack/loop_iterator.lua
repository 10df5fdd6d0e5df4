-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	for _ in function() return 1 end do end
end
