-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Page faults on gigabytes of memory count against the time limit.
-- expect: ETIME
function run()
	local size = 2 ^ 28
	local a = syscall.mmap(0, size, const.PROT_READ + const.PROT_WRITE,
		const.MAP_PRIVATE + const.MAP_ANONYMOUS + const.MAP_NORESERVE, -1, 0)
	assert(a > 0)
	while true do util.fill(a, 1, size) end
end
