-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS | error: overflow
local function f(...)
	local a, b, c, d, e, g, h, i = ...
	return f(a, b, c, d, e, g, h, i, 1, 2, 3, 4, 5, 6, 7, 8) or a
end
function run()
	return 1 + f(1, 2, 3)
end
