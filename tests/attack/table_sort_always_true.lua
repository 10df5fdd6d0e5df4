-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok | error: invalid order function | ETIME
function run()
	local t = {}
	for i = 1, 3000 do t[i] = i % 7 end
	table.sort(t, function() return true end)
end
