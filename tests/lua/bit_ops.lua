-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The bit library: normalization, shifts past 31, rotation, hex.
local function hex(x) return bit.tohex(x) end

function run()
	local v = { 0, 1, -1, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678, -0x80000000,
		2 ^ 32, 2 ^ 32 + 5, 2 ^ 40 + 3, -2 ^ 33 - 7, 1.5, 2.5, -1.5, 2 ^ 51 }
	for _, a in ipairs(v) do
		print(a, bit.tobit(a), hex(a), hex(bit.bnot(a)), hex(bit.bswap(a)))
		for s = 0, 40, 8 do
			print(s, hex(bit.lshift(a, s)), hex(bit.rshift(a, s)), hex(bit.arshift(a, s)),
				hex(bit.rol(a, s)), hex(bit.ror(a, s)))
		end
		for _, b in ipairs(v) do
			assert(bit.bxor(a, b) == bit.bor(bit.band(a, bit.bnot(b)), bit.band(bit.bnot(a), b)))
		end
		assert(bit.bnot(bit.bnot(a)) == bit.tobit(a))
		assert(bit.bswap(bit.bswap(a)) == bit.tobit(a))
		assert(bit.ror(bit.rol(a, 13), 13) == bit.tobit(a))
	end
	assert(bit.band(0xff, 0x0f, 0x3c) == 0x0c and bit.bor(1, 2, 4, 8) == 15)
	assert(bit.bxor(1, 2, 3) == 0)
	assert(bit.tohex(255, 2) == "ff" and bit.tohex(255, -4) == "00FF" and bit.tohex(-1, 8) == "ffffffff")
	assert(bit.tohex(0x12345678, 0) == "")
	assert(bit.band("255", 15) == 15)
	assert(not pcall(bit.band) and not pcall(bit.band, "x") and not pcall(bit.lshift, 1))
	assert(bit.tobit(2 ^ 31) == -2 ^ 31)
end
