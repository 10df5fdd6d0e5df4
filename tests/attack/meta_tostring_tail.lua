-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Not a tail call: the caller's frame is kept for error messages.
-- expect: error: stack overflow
function run()
	local t = setmetatable({}, {})
	getmetatable(t).__tostring = function(s) return tostring(s) end
	return tostring(t)
end
