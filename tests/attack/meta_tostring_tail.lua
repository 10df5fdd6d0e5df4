-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	local t = setmetatable({}, {})
	getmetatable(t).__tostring = function(s) return tostring(s) end
	return tostring(t)
end
