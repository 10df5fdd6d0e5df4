-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The kernel's own checks hold: wild addresses in system calls give EFAULT.
-- expect: ok
local kernel = { -2130706432, -0x778000000000, -0x370000000000, -1073741824, -1, -4096 }

function run()
	local fds = util.buffer(8)
	assert(syscall.pipe2(fds, const.O_NONBLOCK) == 0)
	local r, w = util.peek(fds), util.peek(fds + 4)
	for _, a in ipairs(kernel) do
		assert(syscall.write(w, a, 16) == -errno.EFAULT, a)
		assert(syscall.uname(a) == -errno.EFAULT)
		assert(syscall.clock_gettime(1, a) == -errno.EFAULT)
		assert(syscall.pipe2(a, 0) == -errno.EFAULT)
		assert(syscall.open(a, 0, 0) == -errno.EFAULT)
		assert(syscall.getcwd(a, 100) == -errno.EFAULT)
		assert(syscall.writev(w, a, 1) == -errno.EFAULT)
		assert(syscall.readv(r, a, 1) == -errno.EFAULT)
		assert(syscall.getrandom(a, 16, 0) == -errno.EFAULT)
		assert(syscall.nanosleep(a, 0) == -errno.EFAULT)
	end
	assert(syscall.write(w, "data", 4) == 4)
	for _, a in ipairs(kernel) do assert(syscall.read(r, a, 4) == -errno.EFAULT, a) end
	local iov = util.buffer(16)
	for _, a in ipairs(kernel) do
		util.poke(iov, "i8", a)
		util.poke(iov + 8, "i8", 16)
		assert(syscall.writev(w, iov, 1) == -errno.EFAULT)
		assert(syscall.readv(r, iov, 1) == -errno.EFAULT)
	end
	assert(syscall.read(r, fds, 4) == 4)
	assert(syscall.close(r) == 0 and syscall.close(w) == 0)
end
