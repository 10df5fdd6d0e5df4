-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The handler would run while the script is being ended.
-- expect: ETIME
function run()
	local function loop() while true do end end
	xpcall(loop, loop)
	while true do xpcall(loop, loop) end
end
