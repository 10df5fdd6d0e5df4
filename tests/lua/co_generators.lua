-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Generators: ranges, permutations, trees, primes, products.
local function range(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end

local function permute(a, n)
	n = n or #a
	if n <= 1 then coroutine.yield(a) return end
	for i = 1, n do
		a[n], a[i] = a[i], a[n]
		permute(a, n - 1)
		a[n], a[i] = a[i], a[n]
	end
end

local function primes()
	return coroutine.wrap(function()
		local gen = coroutine.wrap(function() local n = 2 while true do coroutine.yield(n) n = n + 1 end end)
		while true do
			local p, up = gen(), gen
			coroutine.yield(p)
			gen = coroutine.wrap(function()
				while true do
					local n = up()
					if n % p ~= 0 then coroutine.yield(n) end
				end
			end)
		end
	end)
end

local function tree(n) if n == 0 then return nil end return { l = tree(n - 1), v = n, r = tree(n - 1) } end
local function walk(t) if t then walk(t.l) coroutine.yield(t.v) walk(t.r) end end

function run()
	local s = 0
	for i in range(300) do s = s + i end
	assert(s == 45150)
	local n, h = 0, 0
	for p in coroutine.wrap(function() permute { 1, 2, 3, 4, 5 } end) do
		n = n + 1
		for i = 1, 5 do h = (h * 7 + p[i]) % 1000003 end
	end
	assert(n == 120)
	print(h)
	local next_prime, last = primes(), 0
	for _ = 1, 30 do last = next_prime() end
	assert(last == 113)
	local order = {}
	for v in coroutine.wrap(function() walk(tree(6)) end) do order[#order + 1] = v end
	assert(#order == 63)
	print(table.concat(order))
	local pairs_ = 0
	for a in range(12) do for b in range(12) do if a * b == 24 then pairs_ = pairs_ + 1 end end end
	assert(pairs_ == 6)
	return h, last
end
