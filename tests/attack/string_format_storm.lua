-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	while true do pcall(string.format, "%99.99f", 2 ^ 1023) string.format("%99.99d", 2 ^ 40) end
end
