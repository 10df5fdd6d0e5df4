-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Big integers: factorials, powers, Fibonacci numbers, digits of pi.
local function mulsmall(a, m)
	local c = 0
	for i = 1, #a do
		local v = a[i] * m + c
		a[i] = v % 1e7
		c = math.floor(v / 1e7)
	end
	while c > 0 do a[#a + 1] = c % 1e7 c = math.floor(c / 1e7) end
	return a
end
local function add(a, b)
	local r, c = {}, 0
	for i = 1, math.max(#a, #b) do
		local v = (a[i] or 0) + (b[i] or 0) + c
		r[i] = v % 1e7
		c = v >= 1e7 and 1 or 0
	end
	if c > 0 then r[#r + 1] = c end
	return r
end
local function text(a)
	local s = { tostring(a[#a]) }
	for i = #a - 1, 1, -1 do s[#s + 1] = string.format("%07d", a[i]) end
	return table.concat(s)
end
local function pi(digits)
	local n = math.floor(digits * 10 / 3)
	local a, out, held, nines = {}, {}, nil, 0
	for i = 1, n do a[i] = 2 end
	for _ = 1, digits do
		local c = 0
		for i = n, 1, -1 do
			local x = 10 * a[i] + c * i
			a[i] = x % (2 * i - 1)
			c = math.floor(x / (2 * i - 1))
		end
		a[1] = c % 10
		local q = math.floor(c / 10)
		if q == 9 then nines = nines + 1
		else
			if held then out[#out + 1] = q == 10 and held + 1 or held end
			for _ = 1, nines do out[#out + 1] = q == 10 and 0 or 9 end
			held, nines = q == 10 and 0 or q, 0
		end
	end
	return table.concat(out)
end

function run()
	local f = { 1 }
	for i = 2, 60 do mulsmall(f, i) end
	assert(text(f):sub(1, 20) == "83209871127413901442" and #text(f) == 82)
	local p = { 1 }
	for _ = 1, 200 do mulsmall(p, 2) end
	assert(text(p) == "1606938044258990275541962092341162602522202993782792835301376")
	local a, b = { 0 }, { 1 }
	for _ = 1, 200 do a, b = b, add(a, b) end
	assert(text(a) == "280571172992510140037611932413038677189525")
	local d = pi(60)
	assert(d:sub(1, 31) == "3141592653589793238462643383279", d)
	print(d, text(f))
end
