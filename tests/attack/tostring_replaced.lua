-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A tostring() that loops is held to the limit.
-- expect: ETIME
function run()
	tostring = function() while true do end end
	print({})
end
