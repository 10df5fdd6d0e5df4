-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Collatz, Miller-Rabin, perfect numbers, digit sums, partitions, Pythagorean triples.
local function mulmod(a, b, m) return (a * b) % m end
local function powmod(b, e, m)
	local r = 1
	b = b % m
	while e > 0 do
		if e % 2 == 1 then r = mulmod(r, b, m) end
		b = mulmod(b, b, m)
		e = math.floor(e / 2)
	end
	return r
end
local function prime(n)
	if n < 2 or n % 2 == 0 then return n == 2 end
	local d, s = n - 1, 0
	while d % 2 == 0 do d, s = d / 2, s + 1 end
	for _, a in ipairs { 2, 3, 5, 7 } do
		if a % n ~= 0 then
			local x = powmod(a, d, n)
			local ok = x == 1 or x == n - 1
			for _ = 2, s do
				if ok then break end
				x = mulmod(x, x, n)
				ok = x == n - 1
			end
			if not ok then return false end
		end
	end
	return true
end

function run()
	local best, at = 0, 0
	for i = 1, 1500 do
		local n, c = i, 0
		while n ~= 1 do
			n = n % 2 == 0 and n / 2 or 3 * n + 1
			c = c + 1
		end
		if c > best then best, at = c, i end
	end
	assert(best == 181 and at == 1161)
	local count = 0
	for i = 1, 2000 do if prime(i) then count = count + 1 end end
	assert(count == 303)
	assert(prime(33554393) and not prime(33554393 - 2) and powmod(3, 200, 13) == 9)
	local perfect = {}
	for i = 2, 500 do
		local s = 1
		for d = 2, math.sqrt(i) do if i % d == 0 then s = s + d + (d * d ~= i and i / d or 0) end end
		if s == i then perfect[#perfect + 1] = i end
	end
	assert(table.concat(perfect, ",") == "6,28,496")
	local p = { [0] = 1 }
	for i = 1, 100 do p[i] = 0 end
	for k = 1, 100 do for i = k, 100 do p[i] = p[i] + p[i - k] end end
	assert(p[100] == 190569292)
	local triples = 0
	for a = 1, 60 do for b = a, 60 do
		local c = math.sqrt(a * a + b * b)
		if c == math.floor(c) then triples = triples + 1 end
	end end
	print(best, count, triples)
	return best, count, triples, p[100]
end
