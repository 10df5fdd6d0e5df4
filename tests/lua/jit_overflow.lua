-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Integer arithmetic in loops that overflows 32 bits and goes on as floating point.
function run()
	local a = 1
	for i = 1, 60 do a = a * 2 end
	assert(a == 2 ^ 60)
	local s = 2147483000
	for i = 1, 1000 do s = s + 1 end
	assert(s == 2147484000)
	local d = -2147483000
	for i = 1, 1000 do d = d - 1 end
	assert(d == -2147484000)
	local f, g = 0, 1
	for i = 1, 78 do f, g = g, f + g end
	assert(f == 8944394323791464)
	local h = 5381
	for i = 1, 300 do h = (h * 33 + i) % 4294967296 end
	print(h)
	local lcg = 12345
	for i = 1, 300 do lcg = (lcg * 1103515245 + 12345) % 2147483648 end
	print(lcg)
	local idx = {}
	for i = 2147483640, 2147483660 do idx[i] = i end
	local n = 0
	for i = 2147483640, 2147483660 do if idx[i] == i then n = n + 1 end end
	assert(n == 21)
	local neg = 0
	for i = -5, 5 do
		local z = -i
		if z == 0 and 1 / z < 0 then neg = neg + 1 end
	end
	print(neg)
	local m = 0
	for i = -100, 100 do m = m + i % 7 * 100 + i % -7 end
	print(m)
	for i = 1, 100 do
		local p = i * 46341
		assert(p * p == (i * i) * (46341 * 46341))
	end
	return h, lcg
end
