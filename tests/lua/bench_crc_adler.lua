-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Checksums: CRC-32 by table, Adler-32, FNV-1a, DJB2, Fletcher.
local band, bxor, rshift = bit.band, bit.bxor, bit.rshift
local T = {}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do c = band(c, 1) == 1 and bxor(rshift(c, 1), 0xedb88320) or rshift(c, 1) end
	T[i] = c
end

local function crc32(s)
	local c = -1
	for i = 1, #s do c = bxor(T[band(bxor(c, s:byte(i)), 255)], rshift(c, 8)) end
	return bit.tohex(bit.bnot(c))
end
local function adler(s)
	local a, b = 1, 0
	for i = 1, #s do a = (a + s:byte(i)) % 65521 b = (b + a) % 65521 end
	return b * 65536 + a
end
local function fnv(s)
	local h = 2166136261
	for i = 1, #s do
		h = bxor(h, s:byte(i)) % 2 ^ 32
		h = (h * 403 + (h % 256) * 2 ^ 24) % 2 ^ 32
	end
	return h
end
local function djb2(s) local h = 5381 for i = 1, #s do h = (h * 33 + s:byte(i)) % 2 ^ 32 end return h end
local function fletcher(s)
	local a, b = 0, 0
	for i = 1, #s do a = (a + s:byte(i)) % 255 b = (b + a) % 255 end
	return b * 256 + a
end

function run()
	assert(crc32("123456789") == "cbf43926")
	assert(adler("Wikipedia") == 0x11e60398)
	assert(fnv("foobar") == 0xbf9cf968)
	assert(fletcher("abcde") == 0xc8f0)
	local s = {}
	for i = 1, 4000 do s[i] = string.char((i * i + 7 * i) % 256) end
	s = table.concat(s)
	print(crc32(s), adler(s), fnv(s), djb2(s), fletcher(s))
	return adler(s), fnv(s), djb2(s), fletcher(s)
end
