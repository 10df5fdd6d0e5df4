-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- C functions as comparators: no bytecode runs between comparisons.
-- expect: ETIME
function run()
	local t = {}
	for i = 1, 3000 do t[i] = tostring(i) end
	while true do
		pcall(table.sort, t, rawequal)
		pcall(table.sort, t, string.find)
		pcall(table.sort, t, select)
	end
end
