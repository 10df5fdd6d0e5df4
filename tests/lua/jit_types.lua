-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Type instability: integers that turn into fractions, strings, nil, and back.
function run()
	local x = 1
	for i = 1, 300 do
		if i % 50 == 0 then x = x + 0.5 else x = x + 1 end
	end
	assert(x == 298)
	local v, s = 0, 0
	for i = 1, 300 do
		v = i % 3 == 0 and i or i % 3 == 1 and i / 4 or tostring(i)
		s = s + v
	end
	print(string.format("%.10g", s))
	local acc
	for i = 1, 200 do acc = (acc or 0) + i end
	assert(acc == 20100)
	local cur, swaps = 1, 0
	for i = 1, 200 do
		if cur == nil then cur = i swaps = swaps + 1 elseif type(cur) == "number" then cur = "x" else cur = nil end
	end
	print(swaps)
	local function poly(a, b) return a + b end
	local mt = { __add = function(p, q) return (type(p) == "table" and p.v or p) + (type(q) == "table" and q.v or q) end }
	local box, total = setmetatable({ v = 5 }, mt), 0
	for i = 1, 400 do
		if i % 4 == 0 then total = total + poly(box, i)
		elseif i % 4 == 1 then total = total + poly(i, 0.25)
		elseif i % 4 == 2 then total = total + poly("3", i)
		else total = total + poly(i, box) end
	end
	print(total)
	local arr = {}
	for i = 1, 300 do arr[i] = i % 2 == 0 and i or i + 0.5 end
	local es = 0
	for i = 1, 300 do es = es + arr[i] end
	assert(es == 45150 + 75)
	arr[150] = "10"
	es = 0
	for i = 1, 300 do es = es + arr[i] end
	assert(es == 45150 + 75 - 140)
	return swaps, total
end
