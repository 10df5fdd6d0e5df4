-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A reader that never ends.
-- expect: ETIME
function run()
	load(function() return " " end)
end
