-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
-- memory-limit: 16384
function run()
	local head
	for _ = 1, 100000 do head = { head } end
	while true do collectgarbage("step", 1000) end
end
