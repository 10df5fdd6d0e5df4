-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: each was refused | ENOBUFS | ETIME
function run()
	local a = util.buffer(64)
	for _, n in ipairs { 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32, 2 ^ 40, 2 ^ 53 } do
		assert(not pcall(util.str_out, "x", a, -1))
		assert(not pcall(util.compare, a, a, n))
		assert(not pcall(util.copyin, a, n))
		assert(not pcall(util.copyout, {}, a, n))
		assert(not pcall(util.str_in, a, n))
		assert(not pcall(util.buffer, n))
	end
	error("each was refused")
end
