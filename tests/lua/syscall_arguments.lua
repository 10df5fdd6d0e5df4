-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Required arguments of system calls, and the errors for missing ones.
local function fails(text, f, ...)
	for _ = 1, 100 do
		local ok, e = pcall(f, ...)
		if ok or e:gsub("^%S+:%d+: ", "") ~= text then
			error(("got %q, not %q"):format(tostring(e), text), 2)
		end
	end
end

function run()
	local nothing
	-- A missing argument must not become descriptor 0.
	fails("bad argument #1 to 'close' (number expected, got nil)", function() syscall.close(nothing) end)
	fails("bad argument #1 to 'close' (number expected, got nil)", function() return syscall.close(undefined) end)
	fails("bad argument #1 to 'close' (number expected, got nil)", syscall.close, nil)
	fails("close takes 1 argument, got 0", function() syscall.close() end)
	fails("close takes 1 argument, got 2", function() syscall.close(-1, 0) end)
	fails("openat takes 3 to 4 arguments, got 2", function() syscall.openat(-1, "x") end)
	fails("openat takes 3 to 4 arguments, got 5", function() syscall.openat(-1, "x", 0, 0, 0) end)
	fails("bad argument #4 to 'openat' (number expected, got nil)", function() syscall.openat(-1, "x", 0, nil) end)
	fails("getpid takes 0 arguments, got 1", function() syscall.getpid(0) end)

	-- What may be omitted.
	assert(syscall.openat(-1, "x", const.O_RDONLY) == -errno.EBADF)
	assert(syscall.unlinkat(-1, "x") == -errno.EBADF)
	local fd = syscall.memfd_create("scratch")
	assert(fd >= 0)

	-- A string knows its length.
	local name, total = "abc\0def", 0
	for _ = 1, 100 do total = total + syscall.write(fd, name) end
	assert(total == 700 and syscall.write(fd, "") == 0)
	assert(syscall.write(fd, name, 2) == 2)
	fails("write lacks argument #3, a length: only that of a string may be omitted",
		function() syscall.write(fd, total) end)
	fails("write takes 3 arguments, got 1", function() syscall.write(fd) end)
	local sock = syscall.socket(const.AF_UNIX, const.SOCK_DGRAM)
	assert(syscall.sendto(sock, "x", 1, 0, "\1\0/none") == -errno.ENOENT)
	assert(syscall.sendto(sock, "x") == -errno.ENOTCONN)
	assert(syscall.close(sock) == 0 and syscall.close(fd) == 0)

	assert(errno.name(2) == "ENOENT" and errno.name(-98) == "EADDRINUSE")
	assert(errno.name(11) == "EAGAIN" and errno.name(95) == "EOPNOTSUPP")
	assert(errno.name(0) == nil and errno.name(4095) == nil)
	assert(not pcall(errno.name) and not pcall(errno.name, "ENOENT"))

	-- Arguments are checked in order.
	fails("bad argument #1 to 'peek' (number expected, got table)", util.peek, {}, "i3")
	fails("bad argument #1 to 'poke' (number expected, got table)", util.poke, {}, "i3")
	fails("bad argument #1 to 'copyin' (number expected, got table)", util.copyin, {}, {}, "i3")
	fails("bad argument #2 to 'copyin' (number expected, got table)", util.copyin, 0, {}, "i3")
	fails("bad argument #1 to 'copyout' (table expected, got number)", util.copyout, 0, {}, 0, "i3")
	fails("bad argument #1 to 'str_in' (number expected, got table)", util.str_in, {}, {})
	fails("bad argument #2 to 'str_out' (number expected, got table)", util.str_out, "", {}, {})
end
