-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Bindings called with wrong numbers and types of arguments.
-- expect: ok
-- Numbers that only LuaJIT has.
local nan, half, huge = tonumber("nan"), tonumber("0.5"), tonumber("1e300")
function run()
	for _, f in ipairs { util.peek, util.poke, util.copyin, util.copyout, util.str_in, util.str_out, util.fill,
		util.compare, util.find, util.number, util.crc32, util.buffer } do
		assert(not pcall(f))
		assert(not pcall(f, nil, nil, nil, nil))
		assert(not pcall(f, {}, {}, {}, {}))
		assert(not pcall(f, "x", "x", "x", "x"))
		assert(not pcall(f, nan, nan, nan))
		assert(not pcall(f, half, half, half))
		assert(not pcall(f, huge, huge, huge))
		assert(not pcall(f, -2 ^ 60, 2 ^ 60, 2 ^ 60))
		pcall(f, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	end
	for _, kind in ipairs { "i3", "u", "", "i16", "u8 ", "f4", "I4", "\0", ("u8"):rep(1000) } do
		assert(not pcall(util.peek, util.buffer(8), kind), kind)
	end
end
