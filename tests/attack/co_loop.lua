-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A resume() catches the end of the loop and starts the next.
-- expect: ETIME
function run()
	local function loop() while true do end end
	while true do coroutine.resume(coroutine.create(loop)) end
end
