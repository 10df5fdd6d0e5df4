-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- One loop with more exits than may have side traces.
-- expect: ok | ETIME
-- memory-limit: 8192
-- time-limit: 5000
function run()
	local parts = { "local n, t = 0, ... for i = 1, 60000 do local x = t[i % 600 + 1] " }
	for i = 1, 300 do parts[#parts + 1] = "if x == " .. i .. " then n = n + " .. i .. " end " end
	parts[#parts + 1] = " end return n"
	local t = {}
	for i = 1, 600 do t[i] = i * 7 % 600 end
	return loadstring(table.concat(parts))(t)
end
