-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Plain find, quadratic.
-- expect: ETIME
-- memory-limit: 8192
function run()
	local hay, needle = ("a"):rep(2 ^ 19), ("a"):rep(2 ^ 18) .. "b"
	while true do hay:find(needle, 1, true) end
end
