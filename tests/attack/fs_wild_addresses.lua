-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The functions of fs with invalid addresses and lengths.
-- expect: ok
local FILE = 32
local wild = { 0, 1, 4096, 2 ^ 47 - 4096, 2 ^ 47 - 1, 2 ^ 47, 2 ^ 48, 2 ^ 53, -1, -4096, -2 ^ 47, -2 ^ 53 }
local EFAULT = -errno.EFAULT

function run()
	local d = syscall.openat(const.AT_FDCWD, "/", const.O_RDONLY, 0)
	local f, path = util.buffer(FILE), util.buffer(64)
	local zero = util.buffer(4096)
	util.str_out("/dev/zero\0", path)
	for _, a in ipairs(wild) do
		syscall.lseek(d, 0, 0)
		assert(fs.readdirplus(d, a, 2 ^ 53) == EFAULT)
		assert(syscall.lseek(d, 0, 1) == 0)
		assert(fs.stat_files(d, a, 5) == EFAULT)
		assert(fs.read_files(d, a, 2 ^ 31 - 1) == EFAULT)
		assert(fs.write_files(d, a, 1, const.O_CREAT) == EFAULT)
		assert(fs.open_files(d, a, 1, 0) == EFAULT)
		-- A valid array whose elements are invalid pointers.
		util.copyout({ a, a, a, 0 }, f, 4, "i8")
		assert(fs.stat_files(d, f, 1) == 1)
		assert(util.peek(f + 24, "i8") == EFAULT)
		assert(fs.write_files(d, f, 1, const.O_CREAT) == 1)
		assert(util.peek(f + 24, "i8") == EFAULT)
		assert(fs.read_file(d, a, path, 4) == EFAULT)
		assert(fs.read_file(d, path, a, 100) == EFAULT)
		-- A good path.
		util.copyout({ path, a, 100, 0 }, f, 4, "i8")
		assert(fs.read_files(d, f, 1) == 1)
		assert(util.peek(f + 24, "i8") == EFAULT, a)
		if a ~= 0 then
			assert(fs.open_files(d, f, 1, 0) == 1)
			assert(util.peek(f + 24, "i8") == EFAULT)
		end
	end
	-- A length beyond the buffer: as much as fits, or an error.
	util.copyout({ path, zero, 2 ^ 53, 0 }, f, 4, "i8")
	assert(fs.read_files(d, f, 1, const.O_DIRECTORY) == 1)
	assert(util.peek(f + 24, "i8") == -errno.ENOTDIR)
	assert(fs.read_file(d, path, zero, 2 ^ 53, const.O_DIRECTORY) == -errno.ENOTDIR)
	syscall.close(d)
	return 0
end
