-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- One lazy item over a long text.
-- expect: ETIME
-- memory-limit: 8192
function run()
	local s = ("a"):rep(2 ^ 19)
	while true do s:match(".-b") end
end
