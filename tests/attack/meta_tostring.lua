-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- tostring() within __tostring: the print() form enters the interpreter anew at each level.
-- expect: error: overflow | ENOBUFS
-- memory-limit: 8192
function run()
	local t = setmetatable({}, {})
	getmetatable(t).__tostring = function(s) return "<" .. string.format("%s", s) .. ">" end
	print(t)
end
