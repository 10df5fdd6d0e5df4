-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
function run()
	for _, v in ipairs { 0 / 0, math.huge, -math.huge, 0.5, -1.5, 2 ^ 54, -2 ^ 60, 1e300, "1", {}, true, print } do
		local ok, e = pcall(syscall.close, v)
		assert(not ok, tostring(v))
		assert(not pcall(syscall.lseek, 0, v, 0))
		assert(not pcall(syscall.mmap, 0, v, 0, 0, -1, 0))
	end
	for i = 1, 200 do
		local v = i == 190 and 0.5 or -1
		local ok, r = pcall(syscall.close, v)
		assert(ok == (i ~= 190))
		assert(not ok or r == -errno.EBADF)
	end
end
