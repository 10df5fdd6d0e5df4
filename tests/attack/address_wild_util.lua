-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Addresses outside user memory: every function returns an error and does no harm.
-- expect: ok
local wild = { 0, 1, 8, 4095, -1, -8, -4096, 2 ^ 47, 2 ^ 47 - 1, 2 ^ 47 - 4096, 2 ^ 47 - 3, 2 ^ 48, 2 ^ 52, 2 ^ 53, -2 ^ 53,
	-2130706432,		-- kernel text
	-0x778000000000,	-- direct map
	-0x370000000000,	-- vmalloc
	-0x160000000000,	-- memory map
	-1073741824,		-- modules
	-0x800000000000, -0x800000000001, 2 ^ 46 + 4096, 2 ^ 32, -2 ^ 31 }

function run()
	local n = 0
	for _, a in ipairs(wild) do
		for _, kind in ipairs { "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8" } do
			assert(not pcall(util.peek, a, kind), a)
			assert(not pcall(util.poke, a, kind, 1), a)
			assert(not pcall(util.copyin, a, 100, kind), a)
			assert(not pcall(util.copyout, { 1, 2, 3, 4 }, a, 4, kind), a)
		end
		for _, len in ipairs { 1, 8, 4096, 65536 } do
			assert(not pcall(util.str_in, a, len), a)
			assert(not pcall(util.str_out, ("x"):rep(len), a), a)
			assert(not pcall(util.fill, a, 0, len), a)
			assert(not pcall(util.compare, a, util.buffer(16), len), a)
			assert(not pcall(util.find, a, len, "x"), a)
			assert(not pcall(util.number, a, len), a)
			assert(not pcall(util.crc32, a, len), a)
		end
		n = n + 1
	end
	-- In hot loops, to run the compiled forms, too.
	for i = 1, 300 do
		assert(not pcall(util.peek, wild[i % #wild + 1], "u8"))
		assert(not pcall(util.poke, wild[i % #wild + 1], "u8", 0))
	end
	return n
end
