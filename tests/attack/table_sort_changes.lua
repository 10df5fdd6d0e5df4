-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The comparator changes the table that is being sorted.
-- expect: ok | error: . | ETIME
function run()
	local t = {}
	for i = 1, 200 do t[i] = i * 37 % 200 end
	for _ = 1, 20 do
		pcall(table.sort, t, function(a, b)
			t[#t] = nil
			t[1] = t[2]
			collectgarbage("step")
			return (a or 0) < (b or 0)
		end)
	end
end
