-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Arrays, buffers, names and lengths of messages outside user memory.
-- expect: ok
local wild = { 0, 1, 4095, -1, -64, -4096, 2 ^ 47, 2 ^ 47 - 64, 2 ^ 47 - 4096, 2 ^ 53, -2 ^ 53,
	-2130706432, -0x778000000000, -1073741824, 2 ^ 46 + 4096 }
local lengths = { 0, 1, 4096, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32, 2 ^ 47, 2 ^ 53, -1, -2 ^ 53 }

local mmsghdr = util.struct [[
	struct { long name; int namelen; long iov; long iovlen;
		 long control; long controllen; int flags; } hdr;
	unsigned int len;
]]
local iovec = util.struct "long base, len;"
local N = 4
local headers, vectors = util.buffer(mmsghdr.size * N), util.buffer(iovec.size * N)
local name, data = util.buffer(128), util.buffer(4096)
local msgs, iov = mmsghdr(headers, N), iovec(vectors, N)

local function reset()
	for i = 1, N do
		local h = msgs[i].hdr
		h.name, h.namelen, h.iov, h.iovlen = name, 128, iov[i][0], 1
		h.control, h.controllen, h.flags = 0, 0, 0
		iov[i].base, iov[i].len = data, 512
	end
end

local a, b

-- A message waits to be received each time.
local function try()
	syscall.write(b, "message", 7)
	local ok, m = pcall(net.messages, headers, N)
	if ok then
		local got = net.recv(a, m, N, const.MSG_DONTWAIT)
		assert(got <= N and got > -4096, got)
	end
	local sent = net.send(a, headers, N, const.MSG_DONTWAIT)
	assert(sent <= N and sent > -4096, sent)
	repeat until syscall.recvfrom(b, data, 4096, const.MSG_DONTWAIT, 0, 0) < 0
	repeat until syscall.recvfrom(a, data, 4096, const.MSG_DONTWAIT, 0, 0) < 0
end

function run()
	assert(syscall.socketpair(const.AF_UNIX, const.SOCK_DGRAM, 0, data) == 0)
	a, b = util.peek(data), util.peek(data + 4)
	for _, where in ipairs(wild) do
		assert(not pcall(net.messages, where, 1))
		assert(net.send(a, where, 1) < 0)
		for _, field in ipairs { "name", "iov", "control" } do
			reset()
			msgs[2].hdr[field] = where
			msgs[2].hdr.controllen = field == "control" and 64 or 0
			try()
		end
		for _, len in ipairs(lengths) do
			reset()
			iov[1].base, iov[1].len = where, len
			iov[3].base, iov[3].len = data, len
			try()
		end
	end
	for _, len in ipairs(lengths) do
		reset()
		msgs[1].hdr.iovlen = len
		try()
		reset()
		msgs[2].hdr.controllen, msgs[2].hdr.control = len, data
		try()
		if len >= -2 ^ 31 and len < 2 ^ 31 then
			reset()
			msgs[3].hdr.namelen = len
			try()
		end
	end
	syscall.close(a) syscall.close(b)
	return 0
end
