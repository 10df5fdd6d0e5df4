-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Runaway recursion of every kind ends in an error that can be caught, again and again.
local function rec(n) return 1 + rec(n + 1) end
local function first(e) return (tostring(e):gsub("^.-:%d+: ", ""):match("^[^\n]*")) end

function run()
	for _ = 1, 3 do
		local ok, e = pcall(rec, 1)
		assert(not ok)
		print(first(e))
	end
	local t = setmetatable({}, {})
	getmetatable(t).__index = function(s, k) return s[k + 1] end
	print((pcall(function() return t[1] end)))
	getmetatable(t).__add = function(a, b) return a + b end
	print((pcall(function() return t + 1 end)))
	getmetatable(t).__eq = function(a, b) return a == setmetatable({}, getmetatable(t)) end
	print((pcall(function() return t == setmetatable({}, getmetatable(t)) end)))
	getmetatable(t).__call = function(s, n) return 1 + s(n) end
	print((pcall(t, 1)))
	local function vararg(...) return 1 + vararg(1, ...) end
	print((pcall(vararg)))
	local function mutual() return (pcall(mutual)) end
	print(mutual())
	print((pcall(unpack, {}, 1, 1e6)))
	print((pcall(unpack, {}, 1, 1e8)))
	print((pcall(string.rep, "x", -1)))
	local sorted = 0
	print((pcall(table.sort, { 3, 1, 2 }, function(a, b) sorted = sorted + 1 return rec(1) end)))
	assert(1 + 1 == 2 and #("x"):rep(10) == 10)
	return sorted
end
