-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Sieve of Eratosthenes, twin primes and totients.
function run()
	local n, composite, primes = 20000, {}, {}
	for i = 2, n do
		if not composite[i] then
			primes[#primes + 1] = i
			for j = i * i, n, i do composite[j] = true end
		end
	end
	assert(#primes == 2262 and primes[2262] == 19997)
	local twins = 0
	for i = 2, #primes do if primes[i] - primes[i - 1] == 2 then twins = twins + 1 end end
	print(#primes, twins)
	local phi = {}
	for i = 1, 2000 do phi[i] = i end
	for i = 2, 2000 do
		if phi[i] == i then for j = i, 2000, i do phi[j] = phi[j] / i * (i - 1) end end
	end
	local sum = 0
	for i = 1, 2000 do sum = sum + phi[i] end
	print(sum)
	assert(sum == 1216588)
	return #primes, twins, sum
end
