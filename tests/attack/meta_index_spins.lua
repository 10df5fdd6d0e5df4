-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	local t = setmetatable({}, { __index = function() while true do end end })
	return t.x
end
