-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- struct_types: util.types, structures as strings, and views as arguments of system calls.
local T = util.types

local function fails(text, f, ...)
	local ok, e = pcall(f, ...)
	assert(not ok and e:find(text, 1, true), tostring(e))
end

-- The script's chunk name.
local _, own = pcall(function() error("own") end)
local name = own:match("^(.*):%d+: own$")

-- Errors point to the script's line, not to a line of the library.
local function has_place(f)
	local ok, e = pcall(f)
	assert(not ok and e:sub(1, #name) == name and e:find("^:%d+: ", #name + 1), tostring(e))
end

local function places()
	local s = util.struct "uint8_t a; char n[8]; int i[2];"
	local v = s.new { a = 5 }
	has_place(function() v.n = "much too long" end)
	has_place(function() v.none = 1 end)
	has_place(function() v.i = 1 end)
	has_place(function() v.i[3] = 1 end)
	has_place(function() local x = v.i[4] return x end)
	has_place(function() local x = v.none return x end)
	has_place(function() local x = s.pack { a = 300 } return x end)
	has_place(function() local x = s.pack { z = 1 } return x end)
	has_place(function() local x = s.pack { i = { 1, 2, 3 } } return x end)
	has_place(function() local x = s.pack(1) return x end)
	has_place(function() local x = s.new { a = 300 } return x end)
	has_place(function() local x = s.new { z = 1 } return x end)
	has_place(function() local x = s.new(0) return x end)
	has_place(function() local x = s(1.5) return x end)
	has_place(function() local x = s(8, -1) return x end)
	has_place(function() local x = util.struct "int" return x end)
	has_place(function() local x = util.struct(5) return x end)
	has_place(function() local x = T.nothing return x end)
end

function run()
	places()
	-- Packing: unnamed fields are zero.
	assert(T.timespec.pack { tv_sec = 1, tv_nsec = -1 } == "\1\0\0\0\0\0\0\0" .. ("\255"):rep(8))
	assert(#T.sockaddr_un.pack { sun_path = "x" } == 110)
	local v6 = T.sockaddr_in6.pack { sin6_port = util.htons(80), sin6_addr = { [1] = 1, 2, 3 } }
	assert(v6:sub(3, 4) == "\0\80" and v6:sub(9, 12) == "\1\2\3\0" or v6:byte(9) == 2)
	assert(T.mmsghdr.pack { msg_hdr = { msg_flags = 7 }, msg_len = 9 }:byte(57) == 9)
	assert(util.htonl(0x01020304) == 0x04030201 and util.ntohs(0x5000) == 80)
	assert(util.htonl(1) == 2 ^ 24 and util.ntohl(0xff) == 0xff000000)
	fails("no field 'tv_usec'", T.timespec.pack, { tv_usec = 1 })
	fails("1.5 (a number) does not fit 'i8'", T.timespec.pack, { tv_sec = 1.5 })
	fails("does not fit 'u2'", T.sockaddr_un.pack, { sun_family = 65536 })
	fails("108 elements expected at most", T.sockaddr_un.pack, { sun_path = ("x"):rep(109) })
	fails("a table of fields expected", T.mmsghdr.pack, { msg_hdr = 1 })
	fails("no type 'nothing'", function() return T.nothing end)

	-- Views as arguments.
	local ts, now = T.timespec.new { tv_nsec = 1 }, T.timespec.new()
	assert(ts.tv_nsec == 1 and now.tv_sec == 0)
	for _ = 1, 200 do
		assert(syscall.nanosleep(ts) == 0)
		assert(syscall.clock_gettime(const.CLOCK_REALTIME, now) == 0)
		assert(now.tv_sec > 1e9 and now.tv_nsec < 1e9)
	end
	local path = T.sockaddr_un.new()
	path.sun_family, path.sun_path = const.AF_UNIX, "/no/such/socket"
	path.sun_path = "/nope"
	local fd = syscall.socket(const.AF_UNIX, const.SOCK_STREAM)
	for _ = 1, 100 do
		assert(syscall.connect(fd, path, 110) == -errno.ENOENT)
		assert(syscall.connect(fd, T.sockaddr_un.pack { sun_family = const.AF_UNIX, sun_path = "/nope" }) == -errno.ENOENT)
	end
	assert(syscall.close(fd) == 0)
	local both = T.timespec.new(2)
	both[1].tv_sec, both[2].tv_sec = 1, 2
	assert(syscall.utimensat(-1, "x", both) == -errno.EBADF and both[0] == both[1][0])
	fails("109 bytes are too many for an array of 108", function() path.sun_path = ("x"):rep(109) end)
	fails("not a view of memory", syscall.nanosleep, {})
	fails("not a view of memory", syscall.nanosleep, { [0] = "x" })
	fails("number expected, got table", syscall.close, ts)
	fails("bad count", T.timespec.new, 0)
	-- A loop runs compiled, and then its argument changes type.
	local arg = ts
	for i = 1, 300 do
		if i == 290 then arg = {} end
		local ok = pcall(syscall.nanosleep, arg)
		assert(ok == (i < 290))
	end
end
