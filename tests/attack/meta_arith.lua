-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: overflow | ENOBUFS
-- memory-limit: 8192
function run()
	local mt = {}
	for _, e in ipairs { "add", "sub", "mul", "div", "mod", "pow", "unm" } do
		mt["__" .. e] = function(a, b) return a * b - a end
	end
	local t = setmetatable({}, mt)
	return -(t + t)
end
