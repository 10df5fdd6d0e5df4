-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Features of Lua specific to the confined engine; run() returns 0 results if all work.
local function fails(text, f, ...)
	local fine, message = pcall(f, ...)
	message = tostring(message):gsub("^[^:]*:%d+: ", "")
	if fine or message ~= text then
		error(("got %q, not %q"):format(message, text), 2)
	end
end

-- Numbers at the ends of the range of inline integers, and where doubles begin.
local function numbers()
	local edge = 2 ^ 51
	assert(edge - 1 + 1 == edge and -edge - 1 + 1 == -edge and edge * 2 == 2 ^ 52)
	assert(2 ^ 53 + 1 == 2 ^ 53 and -edge - 1 < -edge and edge - 1 < edge)
	local t = { [edge] = 1, [-edge] = 2, [edge - 1] = 3, [0.5] = 4, [-0] = 5, [2 ^ 60] = 6 }
	assert(t[edge] == 1 and t[-edge] == 2 and t[edge - 1] == 3 and t[1 / 2] == 4 and t[0] == 5)
	for k, v in pairs { [-0] = 7 } do
		assert(1 / k == math.huge and v == 7)
	end
	fails("table index is NaN", function() t[0 / 0] = 1 end)
	local n = 0
	for i = edge - 2, edge + 2 do n = n + 1 end
	for i = 0.1, 0.35, 0.05 do n = n + 1 end
	for i = 1, 0, 0 do n = n + 1 end
	for i = -edge + 1, -edge - 1, -1 do n = n + 1 end
	assert(n == 5 + 6 + 3, n)
	assert(tostring(-0) == "-0" and 1 / -0 == -math.huge and 0 * -1 == 0 and 1 / (0 * -1) < 0)
end

local function memory()
	local p = util.buffer(64)
	util.poke(p, "u8", -1)
	assert(util.peek(p, "i1") == -1 and util.peek(p, "u4") == 4294967295 and util.peek(p, "u8") == -1)
	util.copyout({ 1, -2, 3 }, p, 3, "i2")
	assert(table.concat(util.copyin(p, 3, "u2"), ",") == "1,65534,3")
	assert(util.str_out("hello", p, 4) == 4 and util.str_in(p, 4) == "hell")
	util.fill(p + 32, 0x68, 1)
	assert(util.compare(p, p + 32, 1) == 0 and util.compare(p, p + 32, 2) == 1)
	local pair = util.struct [[ int a; unsigned long b; ]](p)
	pair.b = -5
	assert(util.peek(p + 8, "i8") == -5 and util.htons(1) == 256)
	fails("bad address 0x00001000", util.peek, 4096)
	fails("bad address 0x00001000", util.fill, 4096, 0, 1)
	fails("bad argument #3 to 'poke' (number out of range)", util.poke, p, "u1", 256)
	fails("bad argument #2 to 'str_in' (number out of range)", util.str_in, p, -1)
	fails("not enough memory", util.str_in, p, 2 ^ 30)
	fails("element 2 is not an integer that fits", util.copyout, { 1, "2" }, p, 2)
	fails("bad kind 'i3': one of i1 i2 i4 i8 u1 u2 u4 u8 b2 b4 b8 expected", util.peek, p, "i3")
	fails("bad argument #1 to 'buffer' (number out of range)", util.buffer, 2 ^ 30)
end

local function calls()
	local p = util.buffer(16)
	assert(syscall.pipe2(p, const.O_NONBLOCK) == 0)
	local from, to = util.peek(p), util.peek(p + 4)
	assert(syscall.write(to, "four") == 4)
	assert(syscall.read(from, p, 16) == 4 and util.str_in(p, 4) == "four")
	local n = syscall.read(from, p, 16)
	assert(n == -errno.EAGAIN and errno.name(n) == "EAGAIN")
	assert(syscall.close(from) == 0 and syscall.close(to) == 0)
	assert(syscall.read(-1, p, 16) == -errno.EBADF)
	assert(syscall.open("/nowhere/at/all", const.O_RDONLY) == -errno.ENOENT)
	assert(syscall.getpid() == syscall.gettid())
end

-- Errors, caught or not, leave nothing behind; coroutines and C calls nest.
local function errors()
	for _ = 1, 1000 do
		assert(not pcall(error, {}))
	end
	local function nest(n)
		return n == 0 and error("deep") or (("x"):gsub(".", function() return nest(n - 1) end))
	end
	fails("deep", nest, 100)
	fails("deep", nest, 400)
	local co = coroutine.wrap(function(n) while true do n = coroutine.yield(n + 1) end end)
	assert(co(1) == 2 and co(5) == 6)
	assert(not pcall(coroutine.wrap(function() error("in co") end)))
	assert(not loadstring("\27Lua") and not pcall(string.dump, fails))
end

-- Freed memory can be allocated again, in other sizes.
local function allocator()
	for size = 1, 16 do
		local t = {}
		for i = 1, 2 ^ 18 / (2 ^ size + 64) do
			t[i] = ("x"):rep(2 ^ size - 1) .. i
		end
		t = nil
		collectgarbage()
	end
	assert(not pcall(string.rep, "x", 2 ^ 30))
	assert(#("x"):rep(50000) == 50000)
end

function run()
	numbers()
	memory()
	calls()
	errors()
	allocator()
end
