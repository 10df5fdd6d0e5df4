-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Ranges that begin in user memory and leave it, or wrap.
-- expect: ok
function run()
	local page = syscall.mmap(0, 8192, const.PROT_READ + const.PROT_WRITE, const.MAP_PRIVATE + const.MAP_ANONYMOUS, -1, 0)
	assert(page > 0)
	assert(syscall.munmap(page + 4096, 4096) == 0)
	util.poke(page + 4088, "i8", -5)
	assert(util.peek(page + 4088, "i8") == -5)
	for over = 1, 7 do
		assert(not pcall(util.peek, page + 4088 + over, "i8"))
		assert(not pcall(util.poke, page + 4088 + over, "i8", 1))
	end
	assert(#util.str_in(page, 4096) == 4096)
	assert(not pcall(util.str_in, page, 4097))
	assert(#util.copyin(page, 1024) == 1024)
	assert(not pcall(util.copyin, page, 1025))
	assert(not pcall(util.copyin, page + 4095, 1))
	assert(not pcall(util.fill, page, 1, 4097))
	assert(not pcall(util.fill, page, 1, 2 ^ 53))
	assert(not pcall(util.compare, page, page, 8192))
	util.fill(page, 48, 4096)
	for _, n in ipairs { 4097, 2 ^ 32, 2 ^ 53 } do
		assert(not pcall(util.find, page, n, "\1"))
		assert(not pcall(util.crc32, page, n))
		assert(not pcall(util.number, page + 4000, n - 4000))
	end
	assert(not pcall(util.str_in, page, -1))
	assert(not pcall(util.copyin, page, -1))
	assert(syscall.mprotect(page, 4096, const.PROT_READ) == 0)
	assert(not pcall(util.poke, page, "u1", 1))
	assert(util.peek(page, "u1") == 48)
	assert(syscall.mprotect(page, 4096, const.PROT_NONE) == 0)
	assert(not pcall(util.peek, page, "u1"))
	assert(syscall.munmap(page, 4096) == 0)
	assert(not pcall(util.peek, page, "u1"))
	return 1
end
