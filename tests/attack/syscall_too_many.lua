-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
function run()
	assert(not pcall(syscall.close, 1, 2))
	assert(not pcall(syscall.getpid, 1))
	assert(not pcall(syscall.mmap, 1, 2, 3, 4, 5, 6, 7))
	assert(not pcall(syscall.close, unpack({}, 1, 200)))
end
