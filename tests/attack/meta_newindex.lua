-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: overflow | ENOBUFS
-- memory-limit: 8192
function run()
	local t = setmetatable({}, { __newindex = function(s, k, v) s[k] = v end })
	t.x = 1
end
