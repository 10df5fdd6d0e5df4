-- SPDX-License-Identifier: GPL-2.0
-- The prelude of every pack of programs. P prints types and values of its arguments, a NaN without
-- its sign; Y calls a function in a coroutine, and resumes it with each value that it yields until
-- it ends; G bounds the work; N returns a table's first border.
local calls, all = 0, {}
local format, find, gsub, concat = string.format, string.find, string.gsub, table.concat
local function V(v)
	local kind = type(v)
	if kind == "number" then return v ~= v and "nan" or format("%.17g", v) end
	if kind == "string" then
		if find(v, "0x", 1, true) then v = gsub(v, "0x%x+", "") end
		-- An address with a fraction added.
		if find(v, "e+14", 1, true) then v = gsub(v, "1%.%d+e%+14", "") end
		if find(v, "builtin: ", 1, true) then v = gsub(v, "builtin: %S+", "") end
		return "'" .. v .. "'"
	end
	if kind == "nil" or kind == "boolean" or kind == "cdata" then return tostring(v) end
	return kind
end
local function P(...)
	local t = { ... }
	for i = 1, select("#", ...) do t[i] = V(t[i]) end
	print(concat(t, " "))
end
local function Y(f, ...)
	local co, n = coroutine.create(f), 0
	local function on(ok, ...)
		n = n + 1
		if not ok or coroutine.status(co) == "dead" or n > 4 then return ok, ... end
		return on(coroutine.resume(co, ...))
	end
	return on(coroutine.resume(co, ...))
end
local function G() calls = calls + 1 return calls > 50 end
local function N(t)
	local n = 0
	while rawget(t, n + 1) ~= nil do n = n + 1 end
	return n
end
local yields = setmetatable({}, {
	__add = function(a, b) return coroutine.yield(1), a == b end,
	__call = function(t, s, k) if not k then return coroutine.yield(s) end end,
})
local function new_meta()
	return {
		__index = function(t, k) return k end, __call = function(t, a) return a, t end,
		__add = function(a, b) return b end, __sub = function(a) return a end,
		__mul = function() return 7 end, __unm = function(a) return a end,
		__lt = function() return true end, __le = function() return nil end,
		__eq = function() return true end, __concat = function(a, b) return b end,
		__newindex = function(t, k, v) rawset(t, k, v or k) end,
	}
end
local META, f0 = new_meta(), true
local function pick(t, i) return t[i] end
local function less(a, b) if a < b then return a end return b end
local S = util.struct "int a; long b; uint16_t c[3]; int8_t d;"
local sv, buf = S.new(4), util.buffer(64)
local function MATH(a, b, c, names, text_of_it, formats)
	for _, name in ipairs(names) do P(name, math[name](a)) end
	P(math.atan2(a, b), math.fmod(a, b), math.max(a, b), math.min(a, c))
	for _, f in ipairs(formats) do print(f, f:format(a), f:format(b)) end
	P(tonumber(("%.17g"):format(a)), tonumber(("%.3f"):format(b)), tonumber(text_of_it))
	P(bit.tobit(a % 2 ^ 51), bit.bor(b % 2 ^ 40, 1), bit.tohex(c % 2 ^ 33))
	P(("x"):rep(c % 9), ("abcdef"):sub(a % 5, b % 7))
	local n, t = 0, {}
	for i = a % 10, a % 10 + b % 7, c % 3 + 0.25 do
		n = n + 1
		t[i] = n
		t[-i] = i
		if n > 20 then break end
	end
	P(n, t[a], t[0], t[-0], pcall(next, { [a == a and a or 0] = b }))
end
