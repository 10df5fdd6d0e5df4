-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	xpcall(function() error("x") end, function() while true do end end)
end
