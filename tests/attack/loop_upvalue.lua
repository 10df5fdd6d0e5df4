-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
local n = 0
function run()
	local function inc() n = n + 1 end
	while true do inc() end
end
