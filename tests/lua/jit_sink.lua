-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Objects that live for one iteration: allocations that can be sunk, and others that escape.
function run()
	local x = 0
	for i = 1, 500 do
		local p = { x = i, y = i * 2 }
		local q = { x = p.x + 1, y = p.y + 1 }
		x = x + q.x * 3 - q.y
	end
	print(x)
	local esc = {}
	for i = 1, 500 do
		local p = { v = i }
		if i % 100 == 0 then esc[#esc + 1] = p end
		x = x + p.v
	end
	assert(#esc == 5 and esc[5].v == 500)
	local acc = { re = 0, im = 0 }
	for i = 1, 300 do acc = { re = acc.re + i, im = acc.im - i } end
	assert(acc.re == 45150 and acc.im == -45150)
	local mt = { __index = function(_, k) return k end }
	local y = 0
	for i = 1, 300 do
		local o = setmetatable({ [1] = i }, mt)
		y = y + o[1] + o[2]
	end
	assert(y == 45150 + 600)
	local last
	for i = 1, 300 do
		local t = { i, i + 1, i + 2 }
		last = t
		if i == 299 then t[2] = "changed" end
	end
	assert(last[1] == 300 and last[2] == 301)
	local saved
	for i = 1, 300 do
		local t = { a = i, b = { c = i } }
		if i == 250 then saved = t break end
	end
	assert(saved.a == 250 and saved.b.c == 250)
	local fsum = 0
	for i = 1, 200 do
		local f = function() return i end
		fsum = fsum + f()
	end
	assert(fsum == 20100)
	return x, y
end
