-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Mersenne twister, xorshift128, Park-Miller and a statistical look at each.
local band, bor, bxor, lshift, rshift, tobit = bit.band, bit.bor, bit.bxor, bit.lshift, bit.rshift, bit.tobit

local function mul32(a, b)
	local lo = (a % 65536) * b
	local hi = (math.floor(a / 65536) % 65536 * b) % 65536 * 65536
	return (lo + hi) % 2 ^ 32
end
local function twister(seed)
	local mt, idx = { [0] = seed }, 624
	for i = 1, 623 do
		local p = mt[i - 1] % 2 ^ 32
		mt[i] = tobit(mul32(1812433253, bxor(p, rshift(p, 30)) % 2 ^ 32) + i)
	end
	return function()
		if idx == 624 then
			for k = 0, 623 do
				local y = bor(band(mt[k], 0x80000000), band(mt[(k + 1) % 624], 0x7fffffff))
				mt[k] = bxor(mt[(k + 397) % 624], rshift(y, 1), band(y, 1) == 1 and 0x9908b0df or 0)
			end
			idx = 0
		end
		local y = mt[idx]
		idx = idx + 1
		y = bxor(y, rshift(y, 11))
		y = bxor(y, band(lshift(y, 7), 0x9d2c5680))
		y = bxor(y, band(lshift(y, 15), 0xefc60000))
		return bxor(y, rshift(y, 18)) % 2 ^ 32
	end
end
local function xs128()
	local x, y, z, w = 123456789, 362436069, 521288629, 88675123
	return function()
		local t = bxor(x, lshift(x, 11))
		x, y, z = y, z, w
		w = bxor(w, rshift(w, 19), t, rshift(t, 8))
		return w % 2 ^ 32
	end
end

function run()
	local mt = twister(5489)
	assert(mt() == 3499211612 and mt() == 581869302 and mt() == 3890346734)
	local xs = xs128()
	assert(xs() == 3701687786)
	local s = 1
	for _ = 1, 10000 do s = (s * 16807) % 2147483647 end
	assert(s == 1043618065)
	for name, g in pairs { mt = mt } do
		local bins, sum = {}, 0
		for i = 0, 7 do bins[i] = 0 end
		for _ = 1, 1600 do
			local v = g()
			bins[rshift(v, 29)] = bins[rshift(v, 29)] + 1
			sum = sum + v / 2 ^ 32
		end
		for i = 0, 7 do assert(bins[i] > 130 and bins[i] < 270) end
		print(name, string.format("%.10f", sum))
	end
	local h = 0
	for _ = 1, 1000 do h = bxor(bit.rol(h, 1), xs()) end
	print(bit.tohex(h))
end
