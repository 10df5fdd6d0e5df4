-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Tail calls of library functions: errors have the right line, results arrive, and tail calls of
-- Lua functions still take no stack.
local function line(f, ...)
	local ok, e = pcall(f, ...)
	assert(not ok)
	return tonumber(e:match("^tail_call_errors.lua:(%d+): "))
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
