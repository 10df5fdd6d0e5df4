-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Time spent blocked does not count: longer than the limit, and done.
-- expect: ok
-- time-limit: 300
function run()
	local ts = util.buffer(16)
	util.poke(ts, "i8", 0)
	util.poke(ts + 8, "i8", 120000000)
	for _ = 1, 5 do assert(syscall.nanosleep(ts, 0) == 0) end
	return 5
end
