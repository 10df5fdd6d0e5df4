-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Tail calls of library functions: errors have the right line, results arrive, and tail calls of
-- Lua functions still take no stack.
local function line(f, ...)
	local ok, e = pcall(f, ...)
	assert(not ok)
	return tonumber(e:match("^[^:]+:(%d+): "))
end

local here = line(function() error("") end)	-- line 10
assert(here == 10)

local function fails(x) return error("at " .. x) end	-- line 13
local function wrong(x) return string.rep(x) end
local function varargs(...) return string.rep(...) end
local function spread(...) return string.rep("x", select(1, ...)) end
local function closes(x)
	local y = x
	local get = function() return y end
	if x == 1 then return error(get()) end	-- line 20
	return string.rep(get())
end
-- The first return comes before the first upvalue.
local function early(x)
	local y = x
	if x == 1 then return error("early") end	-- line 26
	return function() return y end
end
local object = setmetatable({}, { __call = function(_, x) return math.floor(x) end })	-- line 29
local direct = setmetatable({}, { __call = string.rep })
local function calls(x) return direct(x) end	-- line 31

-- Functions with an inline form.
local lseek, bxor, peek = syscall.lseek, bit.bxor, util.peek
local function calls_system(fd, offset) return lseek(fd, offset, 0) end	-- line 35
local function bits(x, y) return bxor(x, y) end
local function peeks(at, kind) return peek(at, kind) end
local function passes(...) return bxor(...) end
local room = util.buffer(16)
either = syscall.lseek
function calls_either(n) return either(n, 0, 0) end

local function inline()
	for i = 1, 100 do
		assert(calls_system(-1, 0) == -errno.EBADF and bits(i, 1) == bxor(i, 1))
		assert(peeks(room, "i8") == 0 and passes(i, 3, 2) == bxor(i, 1))
		assert(select("#", calls_system(-1, 0)) == 1 and select("#", bits(1, 2), bits(3, 4)) == 2)
		assert(select("#", peeks(room, "u4"), peeks(room, "i8")) == 2)
	end
	util.poke(room, "i8", -2LL ^ 62)
	assert(tostring(peeks(room, "i8")) == "-4611686018427387904LL")
	assert(line(calls_system, {}) == 35 and line(calls_system, 0, "1") == 35)
	assert(line(bits, {}) == 36 and line(bits, "x") == 36 and line(bits) == 36)
	assert(line(peeks, room, "x") == 37 and line(peeks, {}) == 37)
	assert(line(passes) == 38 and line(passes, {}) == 38 and bits("3", 1) == 2)
	-- A function that may be another one each time.
	local get = { lseek, function(n) if n == 0 then return "other" end return calls_either(n - 1) end }
	for i = 1, 100 do
		either = get[i % 2 + 1]
		assert(calls_either(i % 2 == 0 and -1 or i) == (i % 2 == 0 and -errno.EBADF or "other"))
	end
	either = get[2]
	assert(calls_either(100000) == "other")
end

local function many(n) return unpack({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, 1, n) end
local function none() return collectgarbage("step") and nil end
local function through(...) return many(...) end
local function endless(n) if n == 0 then return select("#", 1, nil, nil) end return endless(n - 1) end

function run()
	for _ = 1, 100 do
		assert(line(fails, 1) == 13)
		assert(line(wrong) == 14)
		assert(line(varargs, "x") == 15)
		assert(line(spread, {}) == 16)
		assert(line(closes, 1) == 20)
		assert(line(closes) == 21)
		assert(line(early, 1) == 26)
		assert(line(object, {}) == 29)
		assert(line(calls) == 31)
	end
	assert(early(2)() == 2)
	inline()
	for n = 0, 10 do
		assert(select("#", many(n)) == n and select("#", through(n)) == n)
		assert(select(n + 1, 0, through(n)) == n)
	end
	assert(select("#", none()) == 1)
	assert(endless(100000) == 3)
	local sum = 0
	for i = 1, 1000 do sum = sum + endless(i % 7) + #varargs("ab", i % 5) + select(2, through(3)) end
	assert(sum == 3000 + 4000 + 2000)
	local co = coroutine.wrap(function(x) return coroutine.yield(x) end)
	assert(co(5) == 5 and co(6) == 6)
	assert(select("#", pcall(function() return pcall(error, nil) end)) == 3)
end
