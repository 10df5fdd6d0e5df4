-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The script closes every descriptor, its own among them.
-- expect: any
-- backend: kernel
function run()
	syscall.close_range(0, 2 ^ 32 - 1, 0)
	for fd = 0, 50 do syscall.close(fd) end
	local n = 0
	for i = 1, 1000 do n = n + i end
	return n
end
