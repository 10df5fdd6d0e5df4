-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
-- memory-limit: 8192
function run()
	local s = ("a"):rep(2 ^ 18)
	while true do s:match("(a*)%1b") end
end
