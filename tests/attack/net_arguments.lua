-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Arguments that are not batches, counts or flags; interpreted, and in a hot loop.
-- expect: ok
-- engine: luajit
local headers = util.buffer(64 * 64)

function run()
	local m = net.messages(headers, 64)
	for _, v in ipairs { 0 / 0, math.huge, 0.5, 2 ^ 54, -1, 65, 2 ^ 32, "x", {}, true, print } do
		assert(not pcall(net.messages, headers, v), tostring(v))
		-- -1 means all messages, for net.recv() only.
		assert(v == -1 or not pcall(net.recv, -1, m, v), tostring(v))
		assert(not pcall(net.send, -1, headers, v), tostring(v))
		-- Counts larger than the batch, up to 2^31 - 1.
		assert(v == 65 or not pcall(net.accept, -1, headers, v), tostring(v))
	end
	for _, v in ipairs { "messages", {}, setmetatable({}, { __index = m }), print,
			     coroutine.create(print), 1, true } do
		assert(not pcall(net.recv, -1, v, 1), tostring(v))
		assert(not pcall(net.send, -1, headers, 1, 0, v), tostring(v))
	end
	for bit = 0, 52 do
		assert(net.recv(0, m, 1, 2 ^ bit) < 0)
		assert(net.send(0, headers, 1, 2 ^ bit) < 0)
		assert(net.accept(0, headers, 1, 2 ^ bit) < 0)
	end
	for _, v in ipairs { 2 ^ 32, -2 ^ 32, 2 ^ 31, -2 ^ 53 } do
		assert(net.recv(v, m, 1, 0) == -errno.EBADF)
		assert(net.send(v, headers, 1, 0) == -errno.EBADF)
		assert(net.accept(v, headers, 1, 0) == -errno.EBADF)
	end
	for _, v in ipairs { 0, 16, -4, 2 ^ 52, -2 ^ 52 } do
		assert(net.accept(0, v, 1) == -errno.EFAULT)
		assert(net.accept(0, v, 0) == 0)
	end
	for i = 1, 300 do
		local n = i == 290 and 0.5 or i == 298 and 2 ^ 31 or 2
		local ok, r = pcall(net.accept, -1, headers, n)
		assert(ok == (i ~= 290 and i ~= 298), i)
		assert(not ok or r == -errno.EBADF)
	end
	assert(not pcall(getmetatable(m) or error))
	assert(not pcall(function() return m.x end) and not pcall(function() m[1] = 1 end))
	for i = 1, 300 do
		local fd = i == 290 and 0.5 or -1
		local what = i == 295 and {} or m
		local n = i == 298 and 65 or 2
		local ok, r = pcall(net.recv, fd, what, n, 0)
		assert(ok == (i ~= 290 and i ~= 295 and i ~= 298), i)
		assert(not ok or r == -errno.EBADF)
		ok, r = pcall(net.send, fd, headers, n, 0, i % 2 == 0 and m or nil)
		assert(ok == (i ~= 290 and i ~= 298), i)
	end
	return 0
end
