-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Yields across pcall, xpcall, tostring, metamethods and iterators: values and errors.
local yield = coroutine.yield
local function collect(f, ...)
	local co = coroutine.create(f)
	local out = {}
	local r = { coroutine.resume(co, ...) }
	local n = 0
	while coroutine.status(co) == "suspended" and n < 40 do
		n = n + 1
		out[#out+1] = tostring(r[2])
		r = { coroutine.resume(co, n) }
	end
	out[#out+1] = "=> " .. tostring(r[1])
	for i = 2, 6 do out[#out+1] = tostring(r[i]) end
	print(table.concat(out, " "))
end
local mt = {
	__add = function(a, b) return yield("add") + 1 end,
	__index = function(t, k) return yield("index") end,
	__newindex = function(t, k, v) rawset(t, k, yield("newindex") + v) end,
	__lt = function(a, b) return yield("lt") > 3 end,
	__le = function(a, b) return yield("le") > 3 end,
	__eq = function(a, b) return yield("eq") > 2 end,
	__concat = function(a, b) return yield("cc") .. (type(b) == "string" and b or "o") end,
	__unm = function() return yield("unm") end,
	__call = function(self, x) return yield("call"), x end,
	__tostring = function() return "ts" .. yield("tos") end,
}
local function new() return setmetatable({}, mt) end

function run()
	collect(function() local a = new() return a + a, -a, a.x, a[1] end)
	collect(function() local a, b = new(), new() return a < b, a <= b, a > b, a >= b, a == b end)
	collect(function() local a, b = new(), new() return a ~= b, not (a < b), (a == b) and 1 or 2 end)
	collect(function() local a = new() return a .. "x" .. "y", "x" .. a .. "z", "q" .. "w" .. a .. "e" .. a end)
	collect(function() local a = new() a.x = 5 return a.x end)
	collect(function() local a = new() return a(7) end)
	collect(function() local a = new() return tostring(a) end)
	collect(function() return pcall(function() yield("in") error("boom") end) end)
	collect(function() return type(select(2, pcall(function() yield("in") error({}) end))) end)
	collect(function() return xpcall(function(x) yield(x) error("boom", 0) end, function(m) return "H" .. m end, 4) end)
	collect(function() return xpcall(function(x) yield(x) local n = nil + 1 end, function(m) yield("no") return "H" .. m end, 4) end)
	collect(function() return pcall(pcall, function() yield(1) yield(2) error("x", 0) end) end)
	collect(function() return pcall(yield, 9) end)
	collect(function() local s = 0 for a in function(_, c) local n = yield("it") if n < 4 then return n end end do s = s + a end return s end)
	collect(function() for i = 1, 3 do local ok, e = pcall(function() yield(i) if i == 2 then error("two", 0) end return i end) yield(tostring(ok) .. tostring(e)) end end)
	collect(function() return pcall(function() local ok, e = pcall(function() yield("a") error("inner", 0) end) yield(e) error("outer", 0) end) end)
	collect(function() return pcall(string.gsub, "abc", ".", function() yield("g") end) end)
	collect(function() return pcall(table.sort, {3,2,1}, function() yield("s") end) end)
	collect(function() local co = coroutine.wrap(function() pcall(function() yield("inner") end) return "end" end) local r = co() yield(r) return pcall(co), coroutine.isyieldable() end)
	collect(function() local t = setmetatable({}, { __index = function(_, k) return yield(k) end }) return t.foo end)
	collect(function() return type(setmetatable({}, { __len = yield })) end)
	collect(function(...) local function v(...) return select("#", ...), pcall(yield, ...) end return v(1, 2, 3) end)
	collect(function() local a = new() local t = {} t[1], t[2] = pcall(function() return a.q end) return t[1], t[2] end)
	collect(function() return pcall(function() local u = 1 local f = function() return u end yield("up") u = 2 error(f(), 0) end) end)
	print(pcall(yield), coroutine.isyieldable())
	collect(function() local function r(n) if n == 0 then return yield("deep") end local ok, v = pcall(r, n - 1) return v end return r(30) end)
	collect(function() local function r(n) if n == 0 then yield("deep") error("e", 0) end local ok, v = pcall(r, n - 1) if n > 1 then error(v .. n, 0) end return v end return r(9) end)
	collect(function() local a, s = new(), 0 for i = 1, 5 do s = s + (a + i) end return s end)
	print(type(string.dump), type(string.gfind), collectgarbage("isrunning"))
end
