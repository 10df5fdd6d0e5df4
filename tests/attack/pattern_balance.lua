-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
-- memory-limit: 8192
function run()
	local s = ("("):rep(2 ^ 19)
	while true do s:find("%b()") end
end
