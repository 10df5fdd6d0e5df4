-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- MD5, against known digests.
local band, bor, bxor, bnot, rol, tobit = bit.band, bit.bor, bit.bxor, bit.bnot, bit.rol, bit.tobit
local K, R = {}, { 7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21 }
for i = 1, 64 do K[i] = tobit(math.floor(math.abs(math.sin(i)) * 2 ^ 32)) end

local function md5(msg)
	local len = #msg
	msg = msg .. "\128" .. ("\0"):rep((55 - len) % 64) .. string.char(band(len * 8, 255), band(bit.rshift(len, 5), 255),
		band(bit.rshift(len, 13), 255), 0, 0, 0, 0, 0)
	local a0, b0, c0, d0 = tobit(0x67452301), tobit(0xefcdab89), tobit(0x98badcfe), tobit(0x10325476)
	local m = {}
	for at = 1, #msg, 64 do
		for i = 0, 15 do
			local a, b, c, d = msg:byte(at + i * 4, at + i * 4 + 3)
			m[i] = tobit(d * 0x1000000 + c * 0x10000 + b * 0x100 + a)
		end
		local a, b, c, d = a0, b0, c0, d0
		for i = 0, 63 do
			local f, g
			if i < 16 then f, g = bor(band(b, c), band(bnot(b), d)), i
			elseif i < 32 then f, g = bor(band(d, b), band(bnot(d), c)), (5 * i + 1) % 16
			elseif i < 48 then f, g = bxor(b, c, d), (3 * i + 5) % 16
			else f, g = bxor(c, bor(b, bnot(d))), (7 * i) % 16 end
			f = tobit(f + a + K[i + 1] + m[g])
			a, d, c, b = d, c, b, tobit(b + rol(f, R[math.floor(i / 16) * 4 + i % 4 + 1]))
		end
		a0, b0, c0, d0 = tobit(a0 + a), tobit(b0 + b), tobit(c0 + c), tobit(d0 + d)
	end
	return bit.tohex(bit.bswap(a0)) .. bit.tohex(bit.bswap(b0)) .. bit.tohex(bit.bswap(c0)) .. bit.tohex(bit.bswap(d0))
end

function run()
	assert(md5("") == "d41d8cd98f00b204e9800998ecf8427e")
	assert(md5("The quick brown fox jumps over the lazy dog") == "9e107d9d372bb6826bd81d3542a419d6")
	print(md5(("a"):rep(1000)))
	print(md5(("b"):rep(119)))
end
