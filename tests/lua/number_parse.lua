-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Text to numbers: tonumber() in all bases and literals in source text.
local good = { "0", " 10 ", "\t-7\n", "0x10", "-0x1f", "0xA.8p1", "0x.1", "1e2", "1E+2",
	".5", "5.", "1e-2", "0x1p-2", "1e400", "-1e400", "0x1p1023", "123456789012345678901234567890",
	"0.000000000000000000000000000001", "3.14159265358979323846264338327950288",
	"0b101", "-0b11", "1e0000002", "00017", "0x7fffffff", "0xffffffff", "0x123456789abcdef" }
local bad = { "", " ", "abc", "1a", "0x", "1e", "1e+", "--1", "1 2", "1,5", ".", "0xg", "e5",
	"1..2", "1_000", "\0", "1\0", "0x1p", "nil", "0b2", "+-1" }

function run()
	for _, s in ipairs(good) do
		local v = tonumber(s)
		assert(v, s)
		print(string.format("%q", s), string.format("%.17g", v))
	end
	for _, s in ipairs(bad) do
		assert(tonumber(s) == nil, s)
	end
	assert(tonumber("inf") == math.huge or tonumber("inf") == nil)
	for base = 2, 36 do
		local digits = "0123456789abcdefghijklmnopqrstuvwxyz"
		local s = digits:sub(2, base)
		local v = tonumber(s, base)
		local want = 0
		for i = 1, math.min(#s, 8) do
			want = want * base + i
		end
		assert(tonumber(digits:sub(2, math.min(base, 9)), base) == want)
		assert(tonumber(digits:sub(base + 1, base + 1), base) == nil or base == 36)
		if base <= 12 then print(base, s, string.format("%.0f", v)) end
	end
	assert(tonumber("zz", 36) == 35 * 36 + 35 and tonumber("ZZ", 36) == 1295)
	assert(tonumber("7fffffff", 16) == 2147483647)
	assert(tonumber("-ff", 16) == -255 and tonumber(" 11 ", 2) == 3)
	assert(tonumber("8", 8) == nil and tonumber("1.5", 8) == nil)
	assert(not pcall(tonumber, "1", 1) and not pcall(tonumber, "1", 37))
	assert(not pcall(tonumber))
	assert(tonumber(nil) == nil and tonumber({}) == nil and tonumber(true) == nil)
	for _, s in ipairs { "0x10", "1e3", ".5e1", "3.", "0xA", "1e-10", "0x.8p4" } do
		assert(loadstring("return " .. s)() == tonumber(s))
	end
	for _, s in ipairs { "0x", "1e", "3x", "1..2", "08z", "1.2.3" } do
		local f, msg = loadstring("return " .. s, "=lit")
		assert(not f)
		print(msg)
	end
	assert(not loadstring("return 1i2"))
end
