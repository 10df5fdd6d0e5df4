-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Varargs: counts, nils, adjustment, forwarding, compiled.
local function count(...) return select("#", ...) end
local function pass(...) return ... end
local function sum(...)
	local s = 0
	for i = 1, select("#", ...) do s = s + (select(i, ...)) end
	return s
end
local function rev(...)
	local t, n = { ... }, select("#", ...)
	for i = 1, n / 2 do t[i], t[n - i + 1] = t[n - i + 1], t[i] end
	return unpack(t, 1, n)
end

function run()
	assert(count() == 0 and count(nil) == 1 and count(nil, nil) == 2)
	assert(count(pass(1, 2), pass(3, 4)) == 3 and count((pass(1, 2))) == 1)
	assert(sum(1, 2, 3, 4.5) == 10.5 and sum() == 0)
	print(rev(1, nil, 3, "x"))
	print(select(-1, 1, 2, 3), select(-2, 1, 2, 3))
	print(pcall(select, 0))
	print(pcall(select, -5, 1))
	assert(count(select(3, 1, 2, 3, 4, 5)) == 3 and count(select(9, 1)) == 0)
	local a, b, c = pass(1, 2)
	assert(a == 1 and b == 2 and c == nil)
	a, b, c = (pass(7, 8))
	assert(a == 7 and b == nil)
	a, b, c = 0, pass()
	assert(a == 0 and b == nil)
	local t = { pass(1, 2), pass(3, 4) }
	assert(#t == 3)
	local total = 0
	for i = 1, 300 do
		total = total + sum(i, i + 1, 2) + count(pass(i, i, i))
	end
	assert(total == 45150 * 2 + 300 * 6)
	local args = {}
	for i = 1, 150 do args[i] = i end
	assert(count(unpack(args)) == 150 and sum(unpack(args)) == 11325)
	local function fold(f, z, x, ...)
		if x == nil then return z end
		return fold(f, f(z, x), ...)
	end
	assert(fold(function(p, q) return p * 10 + q end, 0, 1, 2, 3) == 123)
	assert(math.max(unpack(args)) == 150 and string.char(unpack(args, 65, 70)) == "ABCDEF")
	return total
end
