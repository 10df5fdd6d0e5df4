-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The tables are the script's own: what it puts there does it no good.
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
