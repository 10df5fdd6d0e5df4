-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	while true do string.format("%99.99f", 1.7976931348623157e308) end
end
