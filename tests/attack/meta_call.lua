-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: . | ENOBUFS | ETIME
-- memory-limit: 8192
function run()
	local t = setmetatable({}, {})
	getmetatable(t).__call = t
	return t()
end
