-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The globals' own metatable loops.
-- expect: ETIME
function run()
	setmetatable(_G, { __index = function() while true do end end })
	return no_such_name
end
