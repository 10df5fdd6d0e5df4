-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS | ETIME
function run()
	load(function() return "x=1 " end)
	while true do end
end
