-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- load() within a reader of load(): recursion through the parser.
-- expect: error: overflow | ENOBUFS | ok
-- memory-limit: 8192
local function f()
	local fn, msg = load(f)
	if not fn then error(msg, 0) end
end
function run()
	local ok, e = pcall(f)
	assert(not ok)
	error(e, 0)
end
