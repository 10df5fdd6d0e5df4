-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	("x"):gsub("x", function() while true do end end)
end
