-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Table access in traces: constant keys, new keys, bounds checks, aliasing stores, lengths.
function run()
	local t = { a = 1, b = 2, c = 3 }
	for i = 1, 300 do
		t.a, t.b, t.c = t.b, t.c, t.a
	end
	assert(t.a == 1 and t.b == 2 and t.c == 3)
	local u, v = { x = 0 }, { x = 0 }
	local alias = u
	for i = 1, 300 do
		u.x = i
		v.x = v.x + 1
		alias.x = alias.x + 1
		assert(u.x == i + 1)
	end
	assert(v.x == 300)
	local objs = {}
	for i = 1, 200 do
		local o = {}
		o.first = i
		o.second = o.first * 2
		o["third" .. i % 3] = o.second
		objs[i] = o
	end
	local s = 0
	for i = 1, 200 do
		local o = objs[i]
		s = s + o.first + (o.third0 or 0) + (o.third1 or 0) - (o.third2 or 0)
	end
	print(s)
	local a = {}
	for i = 1, 300 do a[i] = i end
	for i = 2, 299 do a[i] = (a[i - 1] + a[i + 1]) / 2 end
	print(string.format("%.6f %.6f", a[150], a[299]))
	local oob = 0
	for i = 290, 310 do if a[i] == nil then oob = oob + 1 end end
	assert(oob == 10)
	for i = -5, 5 do if a[i] == nil then oob = oob + 1 end end
	assert(oob == 16)
	local keys = { "k1", "k2", 3, 4.5, true }
	local m, hits = {}, 0
	for i = 1, 500 do
		local k = keys[i % 5 + 1]
		m[k] = (m[k] or 0) + 1
		if m.k1 then hits = hits + 1 end
	end
	assert(m[true] == 100 and m[4.5] == 100)
	local len = 0
	for i = 1, 200 do
		local q = {}
		for j = 1, i % 10 do q[#q + 1] = j end
		len = len + #q
	end
	assert(len == 900)
	local fl = {}
	for i = 1, 200 do fl[i / 2] = i end
	local fs = 0
	for i = 1, 100 do fs = fs + fl[i] end
	assert(fs == 10100)
	return s, hits
end
