-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The error handler must not run when a limit ends the script.
-- expect: ETIME
function run()
	local function loop() while true do end end
	xpcall(loop, loop)
	while true do xpcall(loop, loop) end
end
