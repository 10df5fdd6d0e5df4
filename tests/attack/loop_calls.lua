-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
local function nothing() end
function run()
	while true do nothing() end
end
