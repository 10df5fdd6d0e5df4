-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Path strings of every length, with embedded zeros, at the end of the script's scratch memory.
-- expect: ok
-- memory-limit: 8192
function run()
	assert(syscall.open("/\0etc/passwd", 0, 0) >= 0)
	assert(syscall.open("", 0, 0) == -errno.ENOENT)
	for n = 1, 15 do
		local ok, r = pcall(syscall.open, ("x"):rep(2 ^ n), 0, 0)
		assert(not ok or r == -errno.ENAMETOOLONG or r == -errno.ENOENT, r)
	end
	for _, n in ipairs { 65535, 65536, 65537, 2 ^ 20 } do
		local ok, r = pcall(syscall.open, ("x"):rep(n), 0, 0)
		assert(not ok or r == -errno.ENAMETOOLONG)
		pcall(syscall.rename, ("x"):rep(n / 2), ("y"):rep(n / 2))
	end
	for _ = 1, 300 do assert(syscall.access("/", 0) == 0) end
end
