-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- fs.stat_entries with buffers as getdents64(2) writes them, and malformed ones.
-- expect: ok
local EFAULT, EINVAL = -errno.EFAULT, -errno.EINVAL
local wild = { 0, 1, 4096, 2 ^ 47 - 4096, 2 ^ 47, 2 ^ 48, 2 ^ 53 }
local NAME = 152	-- in struct syscript_dirent
local names, buf, plus, size = nil, nil, nil, 32768
local d

local function same(bytes)
	local at = 0
	while at < bytes do
		local one, other = buf + at, plus + at
		assert(util.compare(one, other, 4) == 0)
		-- The inode.
		assert(util.peek(one + 32, "i8") == util.peek(other + 32, "i8"))
		assert(util.compare(one + NAME, other + NAME, util.peek(one + 2, "u2") + 1) == 0)
		at = at + util.peek(one, "u2")
	end
	assert(at == bytes)
end

local function given(reclen, name, bytes)
	util.fill(names, 0, 1024)
	util.poke(names + 16, "u2", reclen)
	util.str_out(name, names + 19)
	return fs.stat_entries(d, buf, size, names, bytes or 64)
end

function run()
	names, buf, plus = util.buffer(4096), util.buffer(size), util.buffer(size)
	d = syscall.openat(const.AT_FDCWD, "/", const.O_RDONLY, 0)
	local path = syscall.openat(const.AT_FDCWD, "/", const.O_PATH, 0)
	local null = syscall.openat(const.AT_FDCWD, "/dev/null", const.O_RDONLY, 0)
	local bytes = syscall.getdents64(d, names, 4096)
	assert(bytes > 0)
	for _, fd in ipairs { d, path } do
		syscall.lseek(d, 0, 0)
		local n, used, taken = fs.stat_entries(fd, buf, size, names, bytes)
		assert(n > 0 and taken == bytes)
		assert(syscall.lseek(d, 0, 1) == 0)
		local m, all = fs.readdirplus(d, plus, size)
		assert(m >= n and all >= used)
		same(used)
	end
	-- As many as fit, and only complete entries.
	local n, used, taken = fs.stat_entries(d, buf, 500, names, bytes)
	assert(n > 0 and n < 4 and used <= 500 and taken < bytes)
	assert(fs.stat_entries(d, buf, 10, names, bytes) <= 0)
	n, used, taken = fs.stat_entries(d, buf, size, names, bytes - 1)
	assert(n > 0 and taken < bytes - 1)
	n, used, taken = fs.stat_entries(d, buf, size, names, 0)
	assert(n == 0 and used == 0 and taken == 0)

	assert(fs.stat_entries(null, buf, size, names, bytes) == -errno.ENOTDIR)
	assert(fs.stat_entries(-1, buf, size, names, bytes) == -errno.EBADF)
	for _, a in ipairs(wild) do
		assert(fs.stat_entries(d, buf, size, a, 100) == EFAULT)
		assert(fs.stat_entries(d, a, 2 ^ 53, names, bytes) == EFAULT)
	end
	for _, reclen in ipairs { 0, 1, 18, 19, 65, 65535 } do
		assert(given(reclen, "a\0") == EINVAL)
	end
	assert(given(24, "") == EINVAL)
	assert(given(24, "abcdefgh\0") == EINVAL)
	assert(given(24, "abcde\0") == EINVAL)
	assert(given(24, "a/b\0") == EINVAL)
	assert(given(40, "0123456789abc/\0") == EINVAL)
	assert(given(24, "a\0b/") == 1)
	n, used, taken = given(24, "..\0")
	assert(n == 0 and used == 0 and taken == 24)
	assert(given(24, "gone\0") == 1)
	assert(util.peek(buf + 8, "i4") == -errno.ENOENT)
	assert(given(400, ("n"):rep(300) .. "\0", 400) == 1)
	assert(util.peek(buf + 8, "i4") < 0)
	syscall.close(null)
	syscall.close(path)
	syscall.close(d)
	return 0
end
