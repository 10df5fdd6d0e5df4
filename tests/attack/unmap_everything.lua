-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The script unmaps all memory of its process, including the library's stack.
-- expect: any
-- backend: kernel
function run()
	syscall.munmap(65536, 2 ^ 47 - 4096 - 65536)
	local n = 0
	for i = 1, 1000 do n = n + i end
	pcall(syscall.open, "/", 0, 0)
	return n
end
