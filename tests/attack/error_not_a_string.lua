-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: error object is a table value
function run()
	error(setmetatable({}, { __tostring = function() while true do end end }))
end
