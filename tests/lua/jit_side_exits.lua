-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Branches that change direction: side traces, exits on every kind of guard.
function run()
	local a, b, c, d = 0, 0, 0, 0
	for i = 1, 2000 do
		if i % 2 == 0 then a = a + i
		elseif i % 3 == 0 then b = b + i
		elseif i % 5 == 0 then c = c + i
		else d = d - i end
	end
	print(a, b, c, d)
	assert(a + b + c - d == 2001000)
	local x, flips = 0, 0
	for i = 1, 1000 do
		local up = i <= 400 or i > 700
		if up then x = x + 1 else x = x - 1 end
		if x == 250 then flips = flips + 1 end
	end
	assert(x == 400 and flips == 3, flips)
	local t = {}
	for i = 1, 500 do
		local v
		if i < 100 then v = i elseif i < 200 then v = "s" elseif i < 300 then v = nil elseif i < 400 then v = true else v = { i } end
		t[i] = type(v)
	end
	local n = {}
	for i = 1, 500 do n[t[i]] = (n[t[i]] or 0) + 1 end
	print(n.number, n.string, n["nil"], n.boolean, n.table)
	local sum = 0
	for i = 1, 300 do
		for j = 1, 10 do
			if j > i % 10 then break end
			sum = sum + j
		end
	end
	print(sum)
	local h = 0
	for i = 1, 1500 do
		local k = (i * 7919) % 16
		if k < 8 then if k < 4 then if k < 2 then h = h + 1 else h = h + 2 end else h = h + 3 end
		else if k < 12 then h = h + 4 elseif k == 15 then h = h - 1 else h = h + 5 end end
	end
	print(h)
	return sum, h
end
