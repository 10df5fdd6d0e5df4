-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Varargs, iterators, coroutines and metamethods in hot loops.
local function sum(...)
	local s = 0
	for i = 1, select("#", ...) do s = s + (select(i, ...) or 0) end
	return s, ...
end
local function range(n)
	return coroutine.wrap(function() for i = 1, n do coroutine.yield(i, i * i) end end)
end
local t = setmetatable({}, { __index = function(_, k) return k * 2 end,
	__call = function(_, a, b) return b, a end })
function run()
	for i = 1, 60 do
		print(sum(i, i + 1, i % 3 == 0 and 5 or nil, unpack({ i, i }, 1, i % 4)))
	end
	for a, b in range(60) do
		local c, d = t(a, b)
		print(a, b, c, d, t[a], ("x"):rep(a % 7) .. tostring(b):reverse():upper())
	end
	for k, v in pairs({ 5, 6, a = 1 }) do print(type(k), v) end
	return 0
end
