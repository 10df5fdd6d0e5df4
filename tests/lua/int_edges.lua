-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Integers around 2^31, 2^32, 2^53 and 2^63, where representations change.
local function around(x)
	return string.format("%.0f %.0f %.0f %.0f", x - 1, x, x + 1, -x)
end

function run()
	for _, e in ipairs { 15, 16, 30, 31, 32, 47, 51, 52, 53, 54, 62, 63, 64 } do
		print(e, around(2 ^ e))
	end
	local i = 2147483647
	assert(i + 1 == 2147483648 and -i - 2 == -2147483649)
	assert(i * 2 == 4294967294 and i * i == 4611686014132420609)
	assert(2 ^ 53 + 1 == 2 ^ 53)
	-- A counter that leaves the 32 bit range while its loop runs compiled.
	local n, c = 2 ^ 31 - 50, 0
	for _ = 1, 100 do
		n = n + 1
		c = c + n % 10
	end
	print(n, c)
	n = -2 ^ 31 + 50
	for _ = 1, 100 do n = n - 1 end
	print(n)
	assert(n == -2 ^ 31 - 50)
	local p = 1
	for k = 1, 70 do
		p = p * 2
		assert(p == 2 ^ k)
	end
	local c2 = 0
	for k = 2147483640, 2147483655 do
		c2 = c2 + (k - 2147483640)
	end
	assert(c2 == 120)
	local down = 0
	for k = -2147483640, -2147483655, -1 do down = down + 1 end
	assert(down == 16)
	local mul = 1
	for k = 1, 25 do
		mul = mul * k
	end
	print(string.format("%.0f", mul))
	return c2, 9007199254740992, -9007199254740992
end
