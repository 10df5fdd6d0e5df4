-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: overflow | ENOBUFS
-- memory-limit: 8192
function run()
	local t = setmetatable({}, {})
	getmetatable(t).__index = function(s, k) return s[k .. ""] end
	return t.x
end
