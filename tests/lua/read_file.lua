-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- fs.read_file(): whole files, partial reads, and errors.
local read_file, openat, close = fs.read_file, syscall.openat, syscall.close
local AT_FDCWD, ENOENT = const.AT_FDCWD, -errno.ENOENT

local function text_at(path)
	local addr = util.buffer(#path + 1)
	util.str_out(path .. "\0", addr)
	return addr
end

-- Compiled: one result, both results, more, and as an argument.
local function results(dirfd, path, buf, size, flags)
	local a, b, c = read_file(dirfd, path, buf, size)
	local d, e = read_file(dirfd, path, buf, size, flags)
	local f = read_file(dirfd, path, buf, size, nil)
	assert(a == d and b == e and c == nil and a == f)
	assert(select("#", read_file(dirfd, path, buf, size)) == (a < 0 and 1 or 2))
	return a, b
end

local function is(n, total, dirfd, path, buf, size)
	for _ = 1, 100 do
		local a, b = results(dirfd, path, buf, size, 0)
		if a ~= n or b ~= total then
			error(("%s, %s instead of %s, %s"):format(a, b, n, total), 2)
		end
	end
end

function run()
	local buf = util.buffer(4096)
	local name = ("/tmp/read_file.%d"):format(syscall.getpid())
	local path = text_at(name)
	local CREATE = const.O_CREAT + const.O_EXCL + const.O_WRONLY
	local fd = openat(AT_FDCWD, name, CREATE, 384)
	assert(fd >= 0)
	is(0, 0, AT_FDCWD, path, buf, 4096)
	assert(syscall.write(fd, ("0123456789"):rep(100)) == 1000)
	is(1000, 1000, AT_FDCWD, path, buf, 4096)
	is(1000, 1000, AT_FDCWD, path, buf, 1000)
	is(999, 1000, AT_FDCWD, path, buf, 999)
	is(0, 1000, AT_FDCWD, path, buf, 0)
	assert(read_file(AT_FDCWD, path, buf, 7, const.O_NOFOLLOW) == 7)
	assert(util.str_in(buf, 12) == "012345678901")
	assert(syscall.lseek(fd, 2 ^ 35, 0) == 2 ^ 35 and syscall.write(fd, "x") == 1)
	is(4096, 2 ^ 35 + 1, AT_FDCWD, path, buf, 4096)
	assert(util.peek(buf + 4088, "u8") == 0)

	-- By a link, relative to a directory, and both.
	local link = text_at(name .. ".link")
	assert(syscall.symlinkat(name, AT_FDCWD, name .. ".link") == 0)
	is(10, 2 ^ 35 + 1, AT_FDCWD, link, buf, 10)
	assert(read_file(AT_FDCWD, link, buf, 10, const.O_NOFOLLOW) == -errno.ELOOP)
	local dir = openat(AT_FDCWD, "/tmp", const.O_RDONLY + const.O_DIRECTORY)
	is(10, 2 ^ 35 + 1, dir, link + 5, buf, 10)
	is(10, 2 ^ 35 + 1, dir, path + 5, buf, 10)
	is(10, 2 ^ 35 + 1, -1, path, buf, 10)
	is(ENOENT, nil, dir, text_at("no/such"), buf, 10)
	is(-errno.EBADF, nil, -1, path + 5, buf, 10)
	assert(close(dir) == 0 and close(fd) == 0)
	assert(syscall.unlinkat(AT_FDCWD, name, 0) == 0)
	is(ENOENT, nil, AT_FDCWD, link, buf, 10)
	assert(syscall.unlinkat(AT_FDCWD, name .. ".link", 0) == 0)
	is(ENOENT, nil, AT_FDCWD, path, buf, 10)

	-- Files that are not regular.
	is(10, -1, AT_FDCWD, text_at("/dev/zero"), buf, 10)
	is(0, 0, AT_FDCWD, text_at("/dev/null"), buf, 10)
	is(-errno.EISDIR, nil, AT_FDCWD, text_at("/tmp"), buf, 10)
	is(ENOENT, nil, AT_FDCWD, text_at(""), buf, 10)
	is(-errno.ENOTDIR, nil, AT_FDCWD, text_at("/dev/null/"), buf, 10)
	is(-errno.EFAULT, nil, AT_FDCWD, 0, buf, 10)
	is(-errno.EFAULT, nil, AT_FDCWD, text_at("/dev/zero"), 0, 10)
	is(-errno.EFAULT, nil, AT_FDCWD, text_at("/proc/self/stat"), 0, 10)
	local n, total = read_file(AT_FDCWD, text_at("/proc/self/stat"), buf, 10)
	assert(n == 10 and total == -1)

	-- Arguments that are not numbers.
	assert(not pcall(read_file, AT_FDCWD, path, buf))
	assert(not pcall(read_file, AT_FDCWD, path, buf, "x"))
	assert(not pcall(read_file, AT_FDCWD, {}, buf, 1))
	local function replaced() local a, b = read_file(AT_FDCWD, path, buf, 10) return a, b end
	assert(replaced() == ENOENT)
	read_file = function() return 1, 2 end
	local a, b = replaced()
	assert(a == 1 and b == 2)
	print("read")
end
