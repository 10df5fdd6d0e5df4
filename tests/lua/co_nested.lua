-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Coroutines in coroutines, deep chains, yields through several levels.
local function chain(n)
	if n == 0 then
		return coroutine.wrap(function() for i = 1, 20 do coroutine.yield(i) end end)
	end
	local inner = chain(n - 1)
	return coroutine.wrap(function()
		for v in inner do coroutine.yield(v + 1) end
	end)
end

local function nest(n)
	if n == 0 then return 0 end
	local co = coroutine.create(nest)
	local ok, d = coroutine.resume(co, n - 1)
	assert(ok, d)
	return d + 1
end

function run()
	local s = 0
	for v in chain(8) do s = s + v end
	assert(s == 210 + 160)
	assert(nest(8) == 8)
	local a, b
	local log = {}
	a = coroutine.create(function()
		for i = 1, 5 do
			log[#log + 1] = "a" .. i
			local ok, v = coroutine.resume(b, i)
			log[#log + 1] = tostring(v)
			coroutine.yield(i)
		end
	end)
	b = coroutine.create(function(x)
		while true do
			log[#log + 1] = "b" .. x .. coroutine.status(a)
			x = coroutine.yield(x * 10)
		end
	end)
	for _ = 1, 6 do coroutine.resume(a) end
	print(table.concat(log, " "))
	print(coroutine.status(a), coroutine.status(b))
	local pool, total = {}, 0
	for i = 1, 50 do
		pool[i] = coroutine.create(function(x)
			while true do x = coroutine.yield(x + i) end
		end)
	end
	for round = 1, 10 do
		for i = 1, 50 do
			local _, v = coroutine.resume(pool[i], round)
			total = total + v
		end
	end
	assert(total == 50 * 55 + 10 * 1275)
	return s, total
end
