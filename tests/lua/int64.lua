-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Integers beyond 2^53 from memory and system calls, and back; int64_operators.lua has operators.
local function text(f, ...)
	local _, message = pcall(f, ...)
	return (tostring(message):gsub("^[^:]*:%d+: ", ""))
end

local function memory(p)
	util.fill(p, 0x7f, 8)
	local a, b = util.peek(p, "i8"), util.peek(p, "b8")
	print(type(a), a, a == b, a == 9187201950435737471, a ~= b, getmetatable(a))
	print(string.format("%s|%25s", a, b), select(2, pcall(tostring, a)))
	util.poke(p + 8, "i8", a)
	assert(util.compare(p, p + 8, 8) == 0)
	util.fill(p + 8, 0x80, 7)
	util.fill(p + 15, 0x81, 1)
	print(util.peek(p + 8, "i8"), util.peek(p + 8, "u8"), util.peek(p + 8, "b8"))
	util.poke(p, "b8", util.peek(p + 8, "i8"))
	print(util.peek(p, "i8") == util.peek(p + 8, "b8"))
	util.copyout({ a, -1 }, p, 2, "i8")
	local t = util.copyin(p, 2, "i8", { 1, 2, 3 })
	print(t[1] == a, t[2], t[3], util.copyin(p, 1, "u8")[1])
	print(text(util.poke, p, "u4", a))
	print(text(util.copyout, { a }, p, 1, "i4"))
	print(text(util.peek, a))
	for _, f in ipairs { util.copyin, util.str_in } do print(text(f, a, 2)) end
	print(text(util.copyout, { 1 }, a, 1), text(util.poke, a, "i4", 1))
	print(a + 1, b + 1, a < b, a - a)
	print(text(setmetatable, a, {}))
	local large = util.struct [[ long v; ]](p)
	print(large.v == a, large.v)
	large.v = util.peek(p + 8, "i8")
	print(large.v)
end

-- The position at the end of the integer range, and past it; in loops that get compiled.
local function calls(p)
	local fd = syscall.openat(const.AT_FDCWD, "/proc/self/mem", const.O_RDONLY)
	local at = syscall.lseek(fd, 2 ^ 53 - 100, const.SEEK_SET)
	print(at)
	local numbers, values = 0, 0
	for _ = 1, 300 do
		at = syscall.lseek(fd, 1, const.SEEK_CUR)
		if type(at) == "number" then numbers = numbers + 1 else values = values + 1 end
	end
	print(at, numbers, values)
	for i = 1, 200 do
		util.poke(p, "i8", at)
		assert(util.peek(p, "i8") == at)
		assert(syscall.lseek(fd, at, const.SEEK_SET) == at, i)
	end
	print(syscall.lseek(fd, 0, const.SEEK_CUR) == at, syscall.close(fd))
	print(text(syscall.lseek, fd, 2 ^ 60, 0))
end

function run()
	local p = util.buffer(16)
	memory(p)
	calls(p)
	return 1, util.peek(p, "i8") == 0, util.peek(p, "i8")
end
