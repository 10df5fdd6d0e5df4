-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Garbage with the collector off; the compiler may eliminate the allocations.
-- expect: ENOBUFS | ETIME
function run()
	collectgarbage("stop")
	while true do local _ = {} end
end
