-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Types that change under a trace, integers that leave their range, -0 and NaN.
local values = { 1, 0.5, 2^31 - 1, -2^31, 2^53, -0.0, "7", true, false, 1e300, 0/0 }
local function add(a, b)
	local ok, sum = pcall(function() return a + b end)
	if not ok then return "error" end
	return sum ~= sum and "nan" or ("%.17g"):format(sum)
end
function run()
	for round = 1, 6 do
		for i = 1, #values do
			for k = 1, #values do print(add(values[i], values[k])) end
		end
	end
	local n, s = 2^31 - 100, 0
	for i = 1, 300 do n = n + 1 s = s + bit.tobit(n) % 7 end
	for i = 10, -10, -0.25 do s = s + i * 3 % 2 end
	print(n, s, #values)
	return 0
end
