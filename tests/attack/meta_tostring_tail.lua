-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- No tail call: the caller's frame stays for the text of an error.
-- expect: error: stack overflow
function run()
	local t = setmetatable({}, {})
	getmetatable(t).__tostring = function(s) return tostring(s) end
	return tostring(t)
end
