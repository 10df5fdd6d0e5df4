-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Assumptions that a compiler may make about a script, but that fail at run time.

-- Tables of system calls, constants and functions that are replaced later.
local getppid, lseek, peek, name = syscall.getppid, syscall.lseek, util.peek, errno.name
local buffer = util.buffer(64)
local shared, object, list = 1, { n = 1 }, { 1, 2, 3, 4 }
local parent = getppid()

local function calls()
	return syscall.getppid() == parent, getppid() == parent, lseek(-1, 0, 0), syscall.lseek(-1, 0, 0),
		const.O_RDONLY, name(2), peek(buffer), util.peek(buffer, "i8")
end

local function loop(first, last, step)
	local n, sum = 0, 0
	for i = first, last, step do
		n, sum = n + 1, sum + i
		if n == 5 then break end
	end
	return n, sum
end

local function field(o) return o.n, o.m, o[1], #o end
local function store(o, v) o.n = v o[2] = v return o.n, o[2] end
local function add(a, b) return a + b, a - b, a * b end
local function order(a, b) return a < b, a <= b, a == b, a > b end
local function count() shared = shared + 1 return shared end
local function concat(a, b) return a .. b end

-- There is more to show than a script may print: a checksum stands for it.
local digest, type, tostring, byte = 0, type, tostring, string.byte
local function show(...)
	for i = 1, select("#", ...) do
		local v = select(i, ...)
		local kind = type(v)
		if kind == "number" and v == v then v = ("%.17g"):format(v) end
		v = (kind == "table" or kind == "function") and kind or tostring(v)
		for j = 1, #v do digest = (digest * 31 + byte(v, j)) % 1000000007 end
	end
end

local function try(f, ...)
	show(pcall(f, ...))
end

-- An integer, other numbers, and values that are not numbers.
local values = {
	0, -0, 1, -1, 0.5, 2 ^ 31, 2 ^ 51 - 1, 2 ^ 51, -2 ^ 51, -2 ^ 51 - 1, 2 ^ 53, 2 ^ 63, -2 ^ 63,
	1 / 0, -1 / 0, 0 / 0, "7", "x", false, {}, print,
	setmetatable({}, {
		__index = function(t, k) return k end,
		__newindex = function(t, k, v) rawset(t, k, v) end,
		__add = function() return "sum" end, __sub = function() return "difference" end,
		__mul = function() return "product" end, __concat = function() return "text" end,
		__lt = function() return 1 end, __le = function() return nil end,
		__call = function(t, a) return a end,
	}),
}

local function arithmetic()
	for i = 1, #values do
		for j = 1, #values, 4 do
			try(add, values[i], values[j])
			try(order, values[i], values[j])
		end
		try(concat, values[i], "")
		try(field, values[i])
		try(store, values[i], i)
		try(loop, values[i], 3, 1)
		try(loop, 1, values[i], 1)
		try(loop, 1, 9, values[i])
		try(values[i], i)
	end
end

-- Upvalues, fields and metatables that other code changes between two uses, and in the middle of
-- one.
local function changes()
	show(count(), count())
	for _, v in ipairs { 0.5, "41", 2 ^ 51 - 2, 2 ^ 53 } do
		shared = v
		show(count(), count(), count())
	end
	shared = nil
	try(count)
	shared = setmetatable({}, { __add = function(_, n) return n end })
	show(count(), count())
	setmetatable(object, { __index = { m = "inherited" } })
	show(field(object))
	object.n = nil
	setmetatable(object, { __index = list })
	show(field(object))
	setmetatable(object, { __newindex = function(t, k, v) rawset(t, k, { v }) end })
	show(store(object, 5))
	local i = 0
	local t = setmetatable({}, {
		__index = function(_, k)
			i = i + 1
			object, list = list, object
			collectgarbage()
			return i
		end,
	})
	for _ = 1, 3 do show(t.n + t.n, field(object)) end
end

-- A coroutine that yields across any kind of call, while the function's variables change.
local function across()
	local co = coroutine.wrap(function(t)
		local sum = 0
		for i = 1, 3 do sum = sum + (t + i) + t.n end
		return sum
	end)
	local t = setmetatable({}, {
		__add = function(_, i) return coroutine.yield(i) end,
		__index = function(_, k) return coroutine.yield(k) end,
	})
	local got = co(t)
	while type(got) ~= "table" do
		show(got)
		got = co(got == "n" and 0.5 or 2 ^ 51)
		if type(got) == "number" and got > 100 then break end
	end
	show(got)
end

-- Sizes: many variables, arguments, results, upvalues and elements.
local function many(n)
	local names, sum = {}, {}
	for i = 1, n do names[i], sum[i] = "v" .. i, "v" .. i end
	local text = ("local %s = ... return function(...) return select('#', ...), %s end")
		:format(table.concat(names, ", "), table.concat(sum, " + "))
	return assert(load(text))(unpack(list_of(n)))
end

function list_of(n)
	local t = {}
	for i = 1, n do t[i] = i end
	return t
end

local function sizes()
	show(many(50)(unpack(list_of(200))))
	try(many, 61)
	show(select("#", unpack(list_of(240))))
	local t = list_of(5000)
	for i = 5000, 1, -1 do t[i] = nil end
	show(next(t), #t)
	t = {}
	for i = 1, 300 do t[2 ^ 40 + i], t[-i], t[i + 0.5] = i, i, i end
	local sum = 0
	for i = 1, 300 do sum = sum + t[2 ^ 40 + i] + t[-i] + t[i + 0.5] end
	show(sum, #t)
end

function run()
	for _, part in ipairs { calls, arithmetic, changes, across, sizes } do
		show(part())
		print(digest)
	end
	getppid, lseek = function() return parent end, function() return "sought" end
	syscall.lseek, syscall.getppid = 5, function() return parent end
	rawset(util, "peek", function(_, kind) return kind end)
	const, errno = { O_RDONLY = "constant" }, nil
	try(calls)
	syscall = setmetatable({}, { __index = function(_, k) return function() return k end end })
	show(calls())
	print(digest)
end
