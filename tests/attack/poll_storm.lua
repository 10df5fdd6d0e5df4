-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Calls that could block but return at once.
-- expect: ETIME
function run()
	while true do syscall.poll(0, 0, 0) end
end
