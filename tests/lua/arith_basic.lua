-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Arithmetic operators on every mix of small, large, integral and fractional.
local values = { 0, 1, -1, 2, -3, 7, 0.5, -0.25, 1e10, -1e10, 2^31, -2^31,
	2^31 - 1, 2^32, 2^52, 2^53, 1e300, -1e-300 }

function run()
	local sum, n = 0, 0
	for i = 1, #values do
		local a = values[i]
		assert(-(-a) == a)
		assert(a + 0 == a and a * 1 == a and a / 1 == a and a ^ 1 == a)
		assert(a - a == 0)
		for j = 1, #values do
			local b = values[j]
			assert(a + b == b + a and a * b == b * a)
			assert(a - b == -(b - a))
			if math.abs(b) >= 0.25 and math.abs(a / b) < 2 ^ 53 and
				(a == 0 or a / b ~= 0) then
				local m = a % b
				assert(m == 0 or (m > 0) == (b > 0))
				assert(math.abs(m) < math.abs(b) or m == b)
			end
			n = n + 1
			sum = sum + (a + b) % 1009 + (a - b) % 1013
		end
	end
	for i = 1, #values do
		for j = 1, #values, 3 do
			local a, b = values[i], values[j]
			print(string.format("%.17g %.17g: %.17g %.17g %.17g %.17g", a, b,
				a + b, a - b, a * b, b ~= 0 and a % b or 0))
		end
	end
	print(n, string.format("%.17g", sum))
	assert(7 % 3 == 1 and -7 % 3 == 2 and 7 % -3 == -2 and -7 % -3 == -1)
	assert(5.5 % 2 == 1.5 and -5.5 % 2 == 0.5)
	assert(2 ^ 10 == 1024 and 2 ^ -1 == 0.5 and (-2) ^ 3 == -8)
	assert(-2 ^ 2 == -4 and 2 ^ 3 ^ 2 == 512)
	assert(1 .. 2 == "12")
	return n
end
