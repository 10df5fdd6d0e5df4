-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Upvalues: sharing, privacy per iteration, closing on exit from scopes.
function run()
	local fs = {}
	for i = 1, 5 do
		local j = i * 10
		fs[i] = { get = function() return i + j end, inc = function() j = j + 1 end }
	end
	fs[1].inc()
	fs[1].inc()
	assert(fs[1].get() == 13 and fs[2].get() == 22)
	local function counter()
		local n = 0
		return function() n = n + 1 return n end, function() return n end
	end
	local inc, get = counter()
	local inc2, get2 = counter()
	for _ = 1, 300 do inc() end
	inc2()
	assert(get() == 300 and get2() == 1)
	local w = {}
	local i = 1
	while i <= 3 do
		local c = i
		w[i] = function() c = c + 1 return c end
		i = i + 1
	end
	assert(w[1]() == 2 and w[1]() == 3 and w[2]() == 3)
	local r = {}
	repeat
		local x = #r + 1
		r[x] = function() return x end
	until x >= 4
	assert(r[4]() == 4)
	local function deep(n)
		if n == 0 then return function() return 0 end end
		local inner = deep(n - 1)
		return function() return n + inner() end
	end
	assert(deep(50)() == 1275)
	local function curry(f, n, ...)
		local args = { ... }
		if n == 0 then return f(unpack(args)) end
		return function(x) args[#args + 1] = x return curry(f, n - 1, unpack(args)) end
	end
	assert(curry(math.max, 3)(4)(9)(2) == 9)
	local sum = 0
	for k = 1, 300 do
		local add = function(x) return x + k end
		sum = sum + add(1)
	end
	assert(sum == 45450)
	local a, b = 1, 2
	local function swap() a, b = b, a end
	for _ = 1, 101 do swap() end
	assert(a == 2 and b == 1)
	return sum
end
