-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: overflow | ENOBUFS
-- memory-limit: 8192
function run()
	local t = setmetatable({}, { __concat = function(a, b) return a .. b end })
	return t .. t
end
