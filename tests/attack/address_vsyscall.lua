-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The vsyscall page cannot be written.
-- expect: ok
function run()
	for i = 1, 100 do
		assert(not pcall(util.poke, -10485760, "u8", i))
		assert(not pcall(util.copyout, { 1 }, -10485760, 1))
		assert(not pcall(util.fill, -10485760, 0, 16))
		pcall(util.peek, -10485760, "u8")
		pcall(util.str_in, -10485760, 4096)
	end
end
