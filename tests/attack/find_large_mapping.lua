-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	local size = 2 ^ 28
	local a = syscall.mmap(0, size, const.PROT_READ, const.MAP_PRIVATE + const.MAP_ANONYMOUS + const.MAP_NORESERVE, -1, 0)
	assert(a > 0)
	while true do assert(not util.find(a, size, "x") and util.crc32(a, size)) end
end
