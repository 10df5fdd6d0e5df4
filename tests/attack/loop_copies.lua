-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Copies of user memory do not stop the clock.
-- expect: ETIME
function run()
	local addr = util.buffer(4096)
	while true do util.fill(addr, 1, 4096) end
end
