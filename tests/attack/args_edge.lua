-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
-- args: 9007199254740992 -9007199254740992 0 -1
function run(a, b, c, d)
	assert(a == 2 ^ 53 and b == -2 ^ 53 and c == 0 and d == -1)
	return a, b, c, d
end
