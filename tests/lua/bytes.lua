-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- util.find, util.number and util.crc32 next to what they are defined by; in memory of the
-- script and outside, in loops that get compiled.
local seed = 4711
local function random(n)
	seed = (seed * 16807) % 2147483647
	return seed % n
end

local function text(f, ...)
	local _, message = pcall(f, ...)
	return (tostring(message):gsub("^[^:]*:%d+: ", ""))
end

local function find(s, set)
	for i = 1, #s do
		if set:find(s:sub(i, i), 1, true) then return i - 1 end
	end
end

local function number(s)
	local digits = s:match("^%-?%d+")
	local value = digits and digits:match("^%-?0*(%d*)$")
	if not digits or #value > 16 or (#value == 16 and value > "9007199254740992") then return nil end
	return tonumber(digits) + 0, #digits
end

local function crc32(s, crc)
	crc = bit.bnot(crc or 0)
	for i = 1, #s do
		crc = bit.bxor(crc, s:byte(i))
		for _ = 1, 8 do
			crc = bit.bxor(bit.rshift(crc, 1), bit.band(0xedb88320, -bit.band(crc, 1)))
		end
	end
	return bit.bnot(crc) % 2 ^ 32
end

local function bytes(n, from, to)
	local t = {}
	for i = 1, n do t[i] = string.char(from + random(to - from + 1)) end
	return table.concat(t)
end

local members = { "", "\n", "\0", "\255", "ab", "a\128\0", ":|\n", ",;\r\n", ("a"):rep(256) }
for i = 1, 4 do members[#members + 1] = bytes(4 * i, 0, 255) end

local function check_find(p)
	for i = 1, 700 do
		local s = i % 3 == 0 and bytes(random(40), 0, 255) or bytes(random(100), 1, 97)
		local at, set = p + random(17), members[random(#members) + 1]
		util.str_out(s, at)
		assert(util.find(at, #s, set) == find(s, set), i)
		local byte = random(256)
		assert(util.find(at, #s, byte) == find(s, string.char(byte)), i)
	end
end

local numbers = { "0", "-0", "-", "", "--1", "-1", "7|c", "x", "9007199254740992", "9007199254740993",
	"-9007199254740992", "-9007199254740993", "4503599627370496", "2251799813685247",
	"2251799813685248", "18446744073709551616", "000000000000000000000000000000012", "1234567/",
	"12345678:", "123456789", "99999999999999999999999999999999999999999", "+1", " 1", "1-2" }

local function check_number(p)
	for _, s in ipairs(numbers) do
		util.str_out(s .. "99999999", p)
		local v, n = util.number(p, #s)
		local w, m = number(s)
		assert(v == w and n == m, s)
		if v == 0 then assert(1 / v > 0) end
		assert(select("#", util.number(p, #s)) == (v and 2 or 1))
	end
	for i = 1, 700 do
		local s = (random(2) == 0 and "-" or "") .. bytes(random(24), 48, 57 + random(3))
		util.str_out(s, p + i % 8)
		local v, n = util.number(p + i % 8, #s)
		local w, m = number(s)
		assert(v == w and n == m, s)
		assert(util.number(p + i % 8, #s) == w)
	end
end

local function check_crc(p)
	util.str_out("123456789", p)
	assert(util.crc32(p, 9) == 0xcbf43926 and util.crc32(p, 0) == 0 and util.crc32(p, 0, 5) == 5)
	for i = 1, 300 do
		local s = bytes(random(60), 0, 255)
		util.str_out(s, p + i % 8)
		local n = random(#s + 1)
		local part = util.crc32(p + i % 8, n)
		assert(util.crc32(p + i % 8, #s) == crc32(s), i)
		assert(util.crc32(p + i % 8 + n, #s - n, part) == crc32(s), i)
	end
end

-- What follows the result is not looked at, and what precedes it is, to the byte.
local function check_end()
	local page = syscall.mmap(0, 3 * 4096, const.PROT_READ + const.PROT_WRITE,
		const.MAP_PRIVATE + const.MAP_ANONYMOUS, -1, 0)
	assert(syscall.munmap(page + 8192, 4096) == 0)
	util.fill(page, 48, 8192)
	util.poke(page + 8191, "u1", 10)
	for i = 1, 100 do
		local n = i % 2 == 0 and 2 ^ 53 or 4096
		assert(util.find(page + 8192 - i, i % 2 == 0 and n or i, 10) == i - 1)
		assert(not pcall(util.find, page + i, n + 4096, "x"))
		assert(util.find(page, 8191, "x\n") == nil)
		local value, len = util.number(page + 8192 - i, n)
		assert((value == 0 and len == i - 1) or (i == 1 and not value))
	end
	util.poke(page + 8191, "u1", 49)
	assert(util.number(page, 8192) == 1 and select(2, util.number(page + 4000, 4192)) == 4192)
	assert(not pcall(util.number, page + 5, 8188))
	assert(util.crc32(page, 8192) == util.crc32(page + 4097, 4095, util.crc32(page, 4097)))
	assert(not pcall(util.crc32, page + 1, 8192))
	syscall.munmap(page, 8192)
end

local function check_errors(p)
	print(text(util.find, p, 8, ("x"):rep(257)))
	print(text(util.find, p, 8, 256))
	print(text(util.find, p, 8, -1))
	print(text(util.find, p, -1, "x"))
	print(text(util.find, p, 8))
	print(text(util.find, 16, 8, "x"))
	print(text(util.number, p, -1))
	print(text(util.number, 16, 1))
	print(text(util.crc32, p, 8, -1))
	print(text(util.crc32, p, 8, 2 ^ 32))
	print(text(util.crc32, 16, 8))
	assert(util.find(16, 0, "x") == nil and util.number(16, 0) == nil)
	assert(util.crc32(16, 0, 2 ^ 32 - 1) == 2 ^ 32 - 1)
end

function run()
	for _, p in ipairs { util.buffer(256), util.buffer(20000), util.buffer(60000) } do
		check_find(p)
		check_number(p)
		check_crc(p)
	end
	check_end()
	check_errors(util.buffer(16))
	return 1
end
