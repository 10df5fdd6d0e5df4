-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- sort() within a comparator: recursion through C.
-- expect: error: overflow | ENOBUFS
-- memory-limit: 8192
local function f(a, b)
	table.sort({ 1, 2 }, f)
	return a < b
end
function run() f(1, 2) end
