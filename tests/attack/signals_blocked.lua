-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Blocking signals does not protect a script from its time limit.
-- expect: ETIME
function run()
	local set = util.buffer(8)
	util.poke(set, "i8", -1)
	syscall.rt_sigprocmask(const.SIG_BLOCK, set, 0, 8)
	while true do end
end
