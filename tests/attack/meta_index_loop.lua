-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: loop in gettable|__index
function run()
	local t = {}
	setmetatable(t, { __index = t })
	getmetatable(t).__index = setmetatable({}, { __index = t })
	return t.x
end
