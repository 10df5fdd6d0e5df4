-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Bit operations compiled in loops, compared with their arithmetic definitions.
local band, bor, bxor, lshift, rshift = bit.band, bit.bor, bit.bxor, bit.lshift, bit.rshift

local function slow(a, b, op)
	local r, p = 0, 1
	for _ = 1, 32 do
		local x, y = a % 2, b % 2
		if op == "and" and x + y == 2 or op == "or" and x + y > 0 or op == "xor" and x ~= y then
			r = r + p
		end
		a, b, p = (a - x) / 2, (b - y) / 2, p * 2
	end
	return r
end

local function xorshift(s)
	s = bxor(s, lshift(s, 13))
	s = bxor(s, rshift(s, 17))
	return bxor(s, lshift(s, 5))
end

function run()
	local s, sum = 2463534242, 0
	for i = 1, 2000 do
		s = xorshift(s)
		sum = bxor(bit.rol(sum, 1), s)
		if i % 40 == 0 then
			local a, b = s % 2 ^ 32, sum % 2 ^ 32
			assert(band(a, b) % 2 ^ 32 == slow(a, b, "and"))
			assert(bor(a, b) % 2 ^ 32 == slow(a, b, "or"))
			assert(bxor(a, b) % 2 ^ 32 == slow(a, b, "xor"))
		end
	end
	print(bit.tohex(s), bit.tohex(sum))
	local pop = 0
	for i = 0, 4095 do
		local x = i
		while x ~= 0 do
			x = band(x, x - 1)
			pop = pop + 1
		end
	end
	assert(pop == 12 * 2048)
	local gray = {}
	for i = 0, 255 do gray[bxor(i, rshift(i, 1))] = true end
	for i = 0, 255 do assert(gray[i]) end
	return pop
end
