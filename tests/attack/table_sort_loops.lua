-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	table.sort({ 3, 1, 2 }, function() while true do end end)
end
