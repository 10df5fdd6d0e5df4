-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A script may change its tables of system calls, but gains nothing by it.
-- expect: ok
function run()
	local getpid = syscall.getpid
	local pid = getpid()
	syscall.getpid = function() return -1 end
	assert(syscall.getpid() == -1 and getpid() == pid)
	syscall.getpid = nil
	assert(syscall.getpid() == pid)
	errno.EAGAIN = 5
	assert(errno.EAGAIN == 5)
end
