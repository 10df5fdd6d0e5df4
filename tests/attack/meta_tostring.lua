-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- tostring() within __tostring: through print(), each level enters the interpreter again.
-- expect: error: overflow | ENOBUFS
-- memory-limit: 8192
function run()
	local t = setmetatable({}, {})
	getmetatable(t).__tostring = function(s) return "<" .. string.format("%s", s) .. ">" end
	print(t)
end
