-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The limit applies to a tostring() that loops.
-- expect: ETIME
function run()
	tostring = function() while true do end end
	print({})
end
