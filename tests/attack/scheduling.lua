-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A lower priority and other CPUs: the limit holds wherever the thread is moved.
-- expect: ETIME | error: over the wall-clock limit
function run()
	syscall.setpriority(0, 0, 19)
	local mask = util.buffer(128)
	local cpu = 0
	while true do
		cpu = 1 - cpu
		util.poke(mask, "u8", 2 ^ cpu)
		syscall.sched_setaffinity(0, 128, mask)
		for _ = 1, 100 do syscall.sched_yield() end
	end
end
