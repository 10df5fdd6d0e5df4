-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Multiple assignment, evaluation order and adjustment in calls.
function run()
	local log = {}
	local function v(x) log[#log + 1] = tostring(x) return x end
	local t = {}
	t[v(1)], t[v(2)] = v("a"), v("b")
	print(table.concat(log, " "))
	log = {}
	local _ = v(1) + v(2) * v(3) - v(4)
	print(table.concat(log, " "))
	log = {}
	local function f(...) return select("#", ...) end
	f(v("x"), v("y"), (v("z")))
	print(table.concat(log, " "))
	local i, a = 1, {}
	i, a[i] = i + 1, 20
	assert(i == 2 and a[1] == 20 and a[2] == nil)
	local x, y, z = 1, 2
	assert(z == nil)
	x, y = y, x
	assert(x == 2 and y == 1)
	log = {}
	assert((v(nil) or v(false) or v(3)) == 3 and (v(1) and v(nil)) == nil)
	print(table.concat(log, " "))
	local n = 0
	for k = 1, 300 do
		local p, q = k, k * 2
		p, q = q, p
		n = n + p - q
	end
	assert(n == 45150)
	local r = { (f(1, 2)), f(1, 2, 3), [10] = f() }
	assert(r[1] == 2 and r[2] == 3 and r[10] == 0)
	assert(2 .. 3 == "23" and "a" .. "b" .. "c" == "abc")
	assert(not (1 == 2) == true and (not 1) == false)
	assert(1 + 2 < 4 and 2 ^ -1 == 0.5 and -2 ^ 2 == -4 and not nil == true)
	return n
end
