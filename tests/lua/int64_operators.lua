-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Integers of 64 bits: operators, comparisons and functions over a grid of values and over random
-- ones, often enough to be compiled. LuaJIT's results are the measure.
local values = {
	0, 1, -1, 2, 3, 0.5, -1.5, 63, 2 ^ 31, 2 ^ 32 + 1, 2 ^ 53, -2 ^ 53, 2 ^ 62, 2 ^ 63, -2 ^ 63,
	2 ^ 64, 1.5 * 2 ^ 63, -2 ^ 65, 1e300, 1 / 0, -1 / 0, 0 / 0,
	0LL, 1LL, -1LL, 2LL, -7LL, 64LL, 0x7fffffffLL, 9007199254740993LL, -9007199254740993LL,
	0x7fffffffffffffffLL, -0x7fffffffffffffffLL, 0x8000000000000000LL,
	0ULL, 1ULL, 5ull, 10LLU, 0x8000000000000000ULL, 0x8000000000000001uLL,
	0xffffffffffffffffULL, 18446744073709551615ULL, 0b1011LL,
	"1", "x", true, nil, {}, print,
}
local COUNT = 49

local operators = {
	{ "+", function(a, b) return a + b end }, { "-", function(a, b) return a - b end },
	{ "*", function(a, b) return a * b end }, { "/", function(a, b) return a / b end },
	{ "%", function(a, b) return a % b end }, { "^", function(a, b) return a ^ b end },
	{ "==", function(a, b) return a == b end }, { "~=", function(a, b) return a ~= b end },
	{ "<", function(a, b) return a < b end }, { "<=", function(a, b) return a <= b end },
	{ ">", function(a, b) return a > b end }, { ">=", function(a, b) return a >= b end },
	{ "..", function(a, b) return a .. b end },
	{ "rawequal", rawequal },
	{ "band", bit.band }, { "bor", bit.bor }, { "bxor", bit.bxor }, { "lshift", bit.lshift },
	{ "rshift", bit.rshift }, { "arshift", bit.arshift }, { "rol", bit.rol }, { "ror", bit.ror },
	{ "tohex", bit.tohex },
	{ "%d", function(a, b) return string.format("%d|%5d", a, b) end },
	{ "%x", function(a, b) return string.format("%x|%X|%o|%u|%i", a, b, a, b, a) end },
	{ "%s", function(a, b) return string.format("%s|%.3s|%25s", a, b, a) end },
	{ "%g", function(a, b) return string.format("%g|%g", a, b) end },
}

local function is_int64(v) return type(v) == "cdata" end

-- Addresses differ from run to run.
local function text(ok, v)
	return ok and tostring(v):gsub(": .*", "") or (tostring(v):gsub("^[^:]*:%d+: ", ""):gsub("0x%x+", ""))
end

-- A checksum of what one operator does with one left operand.
local function sum_of(f, a)
	local sum = 0
	for j = 1, COUNT do
		local b = values[j]
		if is_int64(a) or is_int64(b) then
			local s = text(pcall(f, a, b))
			for i = 1, #s do sum = (sum * 31 + s:byte(i)) % 4294967291 end
		end
	end
	return sum
end

local function grid()
	for _, operator in ipairs(operators) do
		local sums = {}
		for i = 1, COUNT do sums[i] = ("%04x"):format(sum_of(operator[2], values[i]) % 65536) end
		print(operator[1], table.concat(sums, " "))
	end
end

-- One operand, and what has an integer as an operand but no operator.
local function single()
	local room = util.buffer(8)
	local functions = {
		function(a) return -a end, function(a) return #a end, function(a) return not a end, tostring,
		tonumber, type, bit.bnot, bit.bswap, bit.tobit, bit.tohex, math.floor, math.abs,
		function(a) return a.x end, function(a) a.x = 1 end, function(a) return a() end,
		function(a) for i = a, 3 do return i end end, getmetatable, string.char,
		function(a) return tonumber(a, 16) end, function(a) return ("x"):rep(a) end,
		function(a) return select("#", unpack({}, 1, a)) end, function(a) return next({}, a) end,
		function(a) return setmetatable(a, {}) end, function(a) return table.concat({ a }) end,
		function(a) return ({ [a] = 1 })[a] end, function(a) return pairs(a) end,
		math.deg, math.rad, function(a) return util.poke(room, "i4", a) end,
		function(a) return util.poke(room, "u8", a) end,
		function(a) return util.copyout({ a }, room, 1, "i2") end,
	}
	for _, a in ipairs { 0LL, -1LL, 3ULL, 0x7fffffffffffffffLL, -0x8000000000000000LL,
			     0xfedcba9876543210ULL } do
		local all = {}
		for i, f in ipairs(functions) do all[i] = text(pcall(f, a)) end
		print(table.concat(all, "; "))
	end
end

-- Objects with metamethods, and which operand's comes first.
local function metamethods()
	local function mine(a, b) return type(a) .. type(b) end
	local t = setmetatable({}, { __add = mine, __eq = mine, __lt = mine, __le = mine, __concat = mine })
	for _, f in ipairs {
		function() return t + 1LL end, function() return 1LL + t end, function() return t == 1LL end,
		function() return 1LL == t end, function() return t < 1LL end, function() return 1LL <= t end,
		function() return t .. 1LL end, function() return 1LL .. t end,
	} do
		print(text(pcall(f)))
	end
end

local function literals()
	for _, s in ipairs {
		"1LL", "1ll", "1Ll", "1ULL", "1uLL", "1LLU", "1UL", "1U", "1L", "1LLL", "1ULLU", "1.LL", "1.5LL",
		"1e3LL", "0xLL", "0x1p3LL", "0xffffffffffffffffLL", "0x10000000000000000LL", "0b1LL", "0b2LL",
		"0bLL", "18446744073709551615LL", "18446744073709551616LL", "99999999999999999999ULL",
		"0000000000000000000000000000012LL", "1_000LL", "1LL_", "- 5LL", "- -5LL", "-9223372036854775808LL",
		"-1ULL", "1i", "2 ^ 3LL", "-2LL ^ 2", "1LL == 1", "not 1LL", "1LL and 2", "1LL .. 1",
	} do
		local f, err = loadstring("return " .. s, "=s")
		if f then print(s, text(pcall(f))) else print(s, (err:gsub("^s:1: ", ""))) end
	end
end

-- An object each: keys by identity, but one for each literal.
local function identity()
	local t, seen = {}, {}
	for i = 1, 3 do
		local k = 7LL
		t[k] = (t[k] or 0) + 1
		seen[k - 0] = i
	end
	local n, m = 0, 0
	for _, v in pairs(t) do n = n + v end
	for _ in pairs(seen) do m = m + 1 end
	print(n, m, t[7LL], t[7], rawequal(7LL, 7LL))
end

local function random()
	local s, sum = 0x123456789abcdefULL, 0
	local function mixed(a, b)
		local c = a * 3 + b / 7 - b % 1000003
		if a < b then c = bit.bxor(c, a) elseif a == b then c = c + 1 else c = -c end
		return bit.rol(c, 13) + bit.arshift(b, 3) ^ 3LL
	end
	for i = 1, 600 do
		s = s * 6364136223846793005ULL + 1442695040888963407ULL
		local signed = bit.bor(0LL, tonumber(bit.band(s, 0xffffULL))) - 0x8000
		local r = mixed(i % 2 == 0 and s or s - 1, i % 3 == 0 and signed or i * 1e12)
		sum = (sum * 31 + tonumber(bit.band(r, 0xffffff))) % 4294967291
		if signed < 0 then sum = sum + 1 end
		if signed == 0x7000 - i then sum = sum + 2 end
	end
	print(s, sum)
end

-- Types that change in a loop: numbers become integers of 64 bits, and back.
local function changing()
	local x, n, equal = 1, 0, 0
	for i = 1, 300 do
		if i % 50 == 0 then x = i * 1LL elseif i % 50 == 25 then x = i end
		if x == 100 then equal = equal + 1 end
		if x > 120 then n = n + 1 end
		if x == 0.5 or x < 0.25 then n = n + 1000 end
		if x == 5000000000 then n = n + 1000 end
		x = x + 1
	end
	print(x, n, equal)
	local sum = 0LL
	for i = 1, 300 do sum = sum + i end
	while sum > 1000 do sum = sum / 2 end
	print(sum, sum == 705)
end

function run()
	grid()
	single()
	metamethods()
	literals()
	identity()
	random()
	changing()
end
