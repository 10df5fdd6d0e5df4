-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Argument lists that double until nothing holds them.
-- expect: error: overflow|too many | ENOBUFS
-- memory-limit: 8192
local function f(...)
	local t = { ... }
	for i = 1, #t do t[#t + 1] = t[i] end
	return f(unpack(t))
end
function run() return f(1) end
