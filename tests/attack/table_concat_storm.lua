-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Endless concatenation of empty strings takes time, not memory.
-- expect: ETIME
-- memory-limit: 8192
function run()
	local t = {}
	for i = 1, 1e5 do t[i] = "" end
	while true do table.concat(t) end
end
