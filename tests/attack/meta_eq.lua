-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: overflow | ENOBUFS
-- memory-limit: 8192
function run()
	local mt = { __eq = function(a, b) return a == b end }
	return setmetatable({}, mt) == setmetatable({}, mt)
end
