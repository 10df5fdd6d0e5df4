-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Values that do not fit the kind, in loops that get compiled.
-- expect: ok
function run()
	local a = util.buffer(64)
	for _, c in ipairs { { "u1", 256 }, { "i1", -129 }, { "u2", 65536 }, { "i2", -32769 }, { "u4", 2 ^ 32 }, { "i4", -2 ^ 31 - 1 },
		{ "i8", 2 ^ 54 }, { "u1", 0.5 }, { "i4", 0 / 0 }, { "i8", math.huge } } do
		for i = 1, 120 do
			local v = i == 100 and c[2] or 1
			assert(pcall(util.poke, a, c[1], v) == (i ~= 100), c[1])
		end
		assert(not pcall(util.copyout, { c[2] }, a, 1, c[1]))
	end
	assert(not pcall(util.copyout, { 1, "2", 3 }, a, 3))
	assert(not pcall(util.copyout, { 1, nil, 3 }, a, 3))
	assert(not pcall(util.copyout, {}, a, 1))
	util.poke(a, "i8", -1)
	assert(util.peek(a, "u4") == 2 ^ 32 - 1 and util.peek(a, "i4") == -1 and util.peek(a, "i8") == -1)
	util.copyout({ -1, -1 }, a, 2)
	util.poke(a + 4, "i4", 0x7fffffff)
	assert(type(util.peek(a, "i8")) == "cdata")
end
