-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A flood of signals and timers at the script's own thread.
-- expect: ETIME
function run()
	local v = util.buffer(64)
	util.copyout({ 0, 0, 0, 0, 0, 0, 0, 0 }, v, 8)
	util.poke(v + 8, "i8", 100)
	util.poke(v + 24, "i8", 100)
	local set = util.buffer(8)
	util.poke(set, "i8", 2 ^ 13)
	assert(syscall.rt_sigprocmask(const.SIG_BLOCK, set, 0, 8) == 0)
	assert(syscall.setitimer(const.ITIMER_REAL, v, 0) == 0)
	while true do syscall.getppid() end
end
