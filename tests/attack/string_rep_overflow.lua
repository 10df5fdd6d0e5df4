-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Lengths whose product wraps.
-- expect: ENOBUFS | error: .
function run()
	local s = ("x"):rep(65536)
	for _, n in ipairs { 65536, 65537, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32, 2 ^ 32 + 1, 2 ^ 48, 2 ^ 53, math.huge } do
		local ok, r = pcall(string.rep, s, n)
		assert(not ok or #r == 0, n)
		ok, r = pcall(string.rep, s, n, s)
		assert(not ok or #r == 0 or r == s, n)
	end
	error("each was refused")
end
