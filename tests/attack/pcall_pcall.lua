-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	local function loop() while true do end end
	while true do pcall(pcall, pcall, pcall, loop) end
end
