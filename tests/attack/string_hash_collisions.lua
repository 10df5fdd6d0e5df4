-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Long strings that a sparse hash cannot tell apart make long chains in the string table.
-- expect: ETIME | ENOBUFS | ok
-- memory-limit: 8192
function run()
	local t, a, b = {}, ("a"):rep(60), ("b"):rep(60)
	for i = 1, 30000 do
		local mid = string.format("%08d", i)
		t[i] = a .. mid .. b
	end
	while true do
		for i = 1, 30000 do local _ = a .. string.format("%08d", i) .. b end
	end
end
