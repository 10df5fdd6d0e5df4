-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Functions of Lua's own libraries that compiled code calls in a form of their own.
local function count(...) return select("#", ...) end
local function rest(n, ...) return select(n, ...) end
local function from(n, ...) return (select(n, ...)) end
local function fails(f, ...) local ok, e = pcall(f, ...) assert(not ok) return e end
local function protected(f, ...) return pcall(f, ...) end
local function three(t) local a, b, c = unpack(t) return a, b, c end
local function all(t) return unpack(t) end
local objects = {}

local function types(i)
	assert(type(nil) == "nil" and type(i) == "number" and type(i > 0) == "boolean")
	assert(type("") == "string" and type(objects) == "table")
	assert(type(type) == "function" and type(count) == "function" and type(i, 1) == "number")
	assert(type(coroutine.create(count)) == "thread")
	assert(({ number = i })[type(i)] == i)
end

local function selects(i)
	assert(count() == 0 and count(nil) == 1 and count(nil, nil, i) == 3)
	assert(count(rest(1, 1, 2, 3)) == 3 and count(rest(3, 1, 2, i)) == 1 and rest(3, 1, 2, i) == i)
	assert(count(rest(4, 1, 2, 3)) == 0 and count(rest(2 ^ 31 - 1, 1)) == 0)
	assert(count(rest(-2, 1, 2, 3)) == 2 and from(-1, 1, 2, i) == i and from(2, 1) == nil)
	local a, b, c, d = select(2, 1, i, 3)
	assert(a == i and b == 3 and c == nil and d == nil)
	local t = { select(2, "a", "b", "c") }
	assert(#t == 2 and t[1] == "b" and from("2", 1, i) == i)
end

local function unpacks(i)
	local a, b, c = three({ i, nil, 3 })
	assert(a == i and b == nil and c == 3)
	a, b, c = three({ i })
	assert(a == i and b == nil and c == nil and count(all({ 1, 2, 3, 4, i })) == 5)
	a, b = unpack({ 1, 2, 3 }, 2)
	assert(a == 2 and b == 3 and count(unpack({}, 1, i % 7)) == i % 7)
	local hole = { [1] = 1, [3] = 3 }
	a, b, c = three(hole)
	assert(a == 1 and b == nil and c == (#hole == 3 and 3 or nil))
end

local function extremes(i)
	assert(math.max(i, 5, -1) == (i > 5 and i or 5) and math.min(i, 5) == (i < 5 and i or 5))
	assert(math.max(i) == i and math.max(0.5, i) == i and math.min(i, 0.5) == 0.5)
	assert(math.max(2 ^ 53, 2 ^ 60) == 2 ^ 60 and math.min(-2 ^ 52, i) == -2 ^ 52)
	assert(math.max("7", 3) == 7)
	local s = ("x"):rep(i % 50)
	assert(s:len() == i % 50 and string.len(12) == 2 and ("a\0b"):len() == 3)
end

local function metatables(i)
	local meta = { __index = function(_, key) return key .. i end, __len = count }
	local object = setmetatable({}, meta)
	objects[i % 10] = object
	assert(object.x == "x" .. i and getmetatable(object) == meta)
	assert(setmetatable(object, nil) == object and object.x == nil)
	local guarded = setmetatable({}, { __metatable = "mine" })
	assert(fails(setmetatable, guarded, {}):find("protected metatable", 1, true))
	assert(fails(setmetatable, 1, {}):find("bad argument #1", 1, true))
	assert(fails(setmetatable, {}):find("bad argument #2", 1, true))
	-- A new metatable of an old object, which the collector has seen.
	local old = objects[(i + 1) % 10]
	if old and not getmetatable(old) then
		setmetatable(old, { __index = { "new" .. i } })
		collectgarbage("step")
		assert(old[1] == "new" .. i)
	end
end

local function errors(i)
	assert(fails(type):find("bad argument #1", 1, true))
	assert(fails(rest, 0, 1):find("bad argument #1") and fails(rest, {}):find("bad argument #1"))
	assert(fails(from, -5, i):find("bad argument #1") and fails(rest):find("bad argument #1"))
	assert(fails(three, 5):find("bad argument #1") and fails(math.max):find("bad argument #1"))
	assert(fails(math.min, i, {}):find("bad argument #2") and fails(string.len):find("#1"))
	local ok, a, b = protected(rest, 2, 1, i, 3)
	assert(ok and a == i and b == 3 and count(protected(error, nil)) == 2)
	assert(count(protected(count)) == 2 and select(2, protected(error, i, 0)) == i)
	assert(select(2, protected(function() local x = nil return x.y end)):find("attempt to index"))
end

function run()
	for i = 1, 300 do
		types(i) selects(i) unpacks(i) extremes(i) metatables(i) errors(i)
	end
	collectgarbage()
	type = function() return "mine" end
	assert(type(1) == "mine")
end
