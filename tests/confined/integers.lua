-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- What is special about Lua in the confined engine; ends with 0 results.
local function fails(text, f, ...)
	local fine, message = pcall(f, ...)
	message = tostring(message):gsub("^[^:]*:%d+: ", "")
	if fine or message ~= text then
		error(("got %q, not %q"):format(message, text), 2)
	end
end

local function numbers()
	assert(7 / 2 == 3 and -7 / 2 == -4 and 7 / -2 == -4 and -7 % 3 == 2 and 7 % -3 == -2)
	local least = -9223372036854775807 - 1
	assert(least / -1 == least and least % -1 == 0 and math.fmod(least, -1) == 0)
	assert(9223372036854775807 + 1 == least and tostring(least) == "-9223372036854775808")
	assert(2 ^ 62 == 4611686018427387904 and 3 ^ 0 == 1 and 2 ^ -1 == 0 and (-1) ^ -3 == -1)
	assert(1e3 == 1000 and 0xffffffffffffffff == -1 and tonumber("-9223372036854775808") == least)
	assert(tonumber("9223372036854775808") == nil and tonumber("1e19") == nil)
	assert(tonumber("1.5") == nil and tonumber("1e") == nil and tonumber("1e-1") == nil)
	assert(tonumber("zz", 36) == 1295 and tonumber(" 12 ") == 12 and tonumber("0x") == nil)
	assert(not loadstring("return 1.5") and not loadstring("return 0x1p4"))
	fails("attempt to divide by zero", function(n) return 1 / n end, 0)
	fails("attempt to divide by zero", function(n) return 1 % n end, 0)
	assert(math.floor(-3) == -3 and math.abs(-3) == 3 and math.max(1, 3, 2) == 3)
	assert(math.min(2, 1) == 1 and math.huge == 9223372036854775807)
	assert(bit.band(-1, 0xffffffff) == -1 and bit.rshift(-1, 28) == 15 and bit.arshift(-16, 2) == -4)
	assert(bit.bswap(0x01020304) == 0x04030201 and bit.rol(0x80000001, 4) == 24)
	assert(bit.tohex(-1) == "ffffffff" and bit.tohex(0xab, -4) == "00AB")
end

local function formats()
	local function same(want, ...)
		local got = string.format(...)
		if got ~= want then
			error(("got %q, not %q"):format(got, want), 2)
		end
	end
	same("   42|42   |00042|+42| 42|  007", "%5d|%-5d|%05d|%+d|% d|%5.3d", 42, 42, 42, 42, 42, 7)
	same("ff|0xff|0XFF|010|18446744073709551615", "%x|%#x|%#X|%#o|%u", 255, 255, 255, 8, -1)
	same("||0|-9223372036854775808", "%.0d|%.0x|%d|%d", 0, 0, 0, -9223372036854775807 - 1)
	same("A|  abc|abc  |ab", "%c|%5s|%-5s|%.2s", 65, "abc", "abc", "abc")
	fails("option '%f' to 'format': numbers are integers", string.format, "%f", 1)
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
	fails("bad address 0x1000", util.peek, 4096)
	fails("bad address 0x1000", util.fill, 4096, 0, 1)
	fails("bad argument #3 to '?' (number out of range)", util.poke, p, "u1", 256)
	fails("bad argument #2 to '?' (out of range)", util.str_in, p, -1)
	fails("not enough memory", util.str_in, p, 2 ^ 30)
	fails("element 2 is not an integer that fits", util.copyout, { 1, "2" }, p, 2)
	fails("bad kind 'i3': one of i1 i2 i4 i8 u1 u2 u4 u8 b2 b4 b8 expected", util.peek, p, "i3")
	fails("not enough memory", util.buffer, 2 ^ 30)
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

-- Caught or not, errors leave nothing behind; coroutines and C calls nest.
local function errors()
	for _ = 1, 1000 do
		assert(not pcall(error, {}))
	end
	local function nest(n)
		return n == 0 and error("deep") or (("x"):gsub(".", function() return nest(n - 1) end))
	end
	fails("deep", nest, 100)
	local fine, message = pcall(nest, 1000)
	assert(not fine and message:find("C stack overflow", 1, true), message)
	local co = coroutine.wrap(function(n) while true do n = coroutine.yield(n + 1) end end)
	assert(co(1) == 2 and co(5) == 6)
	assert(not pcall(coroutine.wrap(function() error("in co") end)))
	assert(not loadstring("\27Lua") and not pcall(string.dump, fails))
end

-- All that is freed can be had again, in other sizes.
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
	formats()
	memory()
	calls()
	errors()
	allocator()
end
