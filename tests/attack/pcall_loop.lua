-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A pcall() tries to catch the limit's error and to start the next loop.
-- expect: ETIME
function run()
	local function loop() while true do end end
	while true do pcall(loop) end
end
