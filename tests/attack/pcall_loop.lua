-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Each pcall() catches the end of its loop and starts the next.
-- expect: ETIME
function run()
	local function loop() while true do end end
	while true do pcall(loop) end
end
