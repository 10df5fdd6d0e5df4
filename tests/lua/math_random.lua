-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The generator: reproducible by seed, within its bounds, evenly spread.
function run()
	math.randomseed(42)
	local first = {}
	for i = 1, 10 do first[i] = math.random() end
	math.randomseed(42)
	for i = 1, 10 do
		assert(math.random() == first[i])
	end
	print(string.format("%.14f %.14f", first[1], first[10]))
	math.randomseed(7)
	local count = {}
	for i = 1, 8 do count[i] = 0 end
	for _ = 1, 4000 do
		local r = math.random(8)
		count[r] = count[r] + 1
	end
	for i = 1, 8 do
		assert(count[i] > 400 and count[i] < 600, count[i])
	end
	print(table.concat(count, " "))
	local lo, hi = 1e9, -1e9
	for _ = 1, 1000 do
		local r = math.random(-5, 5)
		assert(r == math.floor(r))
		lo, hi = math.min(lo, r), math.max(hi, r)
		local u = math.random()
		assert(u >= 0 and u < 1)
	end
	assert(lo == -5 and hi == 5)
	assert(math.random(3, 3) == 3)
	assert(not pcall(math.random, {}) and not pcall(math.random, 1, {}))
	print(math.random(1, 2 ^ 40), math.random(2 ^ 31))
	math.randomseed(-1.5)
	print(math.random(1000), math.random(1000))
end
