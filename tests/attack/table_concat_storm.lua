-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Empty strings joined for ever: no memory, only time.
-- expect: ETIME
-- memory-limit: 8192
function run()
	local t = {}
	for i = 1, 1e5 do t[i] = "" end
	while true do table.concat(t) end
end
