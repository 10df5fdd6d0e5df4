-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Comparisons that each run over a long equal prefix.
-- expect: ETIME
-- memory-limit: 8192
function run()
	local t, prefix = {}, ("x"):rep(50000)
	for i = 1, 100 do t[i] = prefix .. (i * 7919) % 100 end
	while true do table.sort(t) end
end
