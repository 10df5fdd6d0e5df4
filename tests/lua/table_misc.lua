-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- unpack, maxn, getn, foreach, foreachi, table.move and constructors.
local function count(...) return select("#", ...) end

function run()
	assert(count(unpack({ 1, nil, 3 }, 1, 3)) == 3 and count(unpack({}, 1, 0)) == 0)
	assert(count(unpack({}, 5, 3)) == 0 and select(2, unpack({ 1, 2, 3 }, 2)) == 3)
	assert(count(unpack({}, 1, 200)) == 200)
	assert(table.maxn({ 1, 2, [10] = 3, [2.5] = 1 }) == 10 and table.maxn({}) == 0)
	local n = 0
	table.foreach({ 1, 2, x = 3 }, function(_, v) n = n + v end)
	assert(n == 6)
	assert(table.foreachi({ 5, 6, 7 }, function(i, v) if v == 6 then return i end end) == 2)
	assert(table.getn({ 1, 2, 3 }) == 3)
	local m = table.move({ 1, 2, 3, 4 }, 2, 4, 1)
	assert(table.concat(m, ",") == "2,3,4,4")
	m = table.move({ 1, 2, 3 }, 1, 3, 2)
	assert(table.concat(m, ",") == "1,1,2,3")
	m = table.move({ 1, 2, 3 }, 1, 3, 5, { 9 })
	assert(m[1] == 9 and m[5] == 1 and m[7] == 3)
	local function f(...) return { ... }, { ..., "end" }, { (...) } end
	local a, b, c = f(1, 2, 3)
	assert(#a == 3 and #b == 2 and #c == 1)
	local t = { f = 1, ["g h"] = 2, [3 + 4] = 5; 6, 7 }
	assert(t.f == 1 and t["g h"] == 2 and t[7] == 5 and t[1] == 6 and t[2] == 7)
	local big = {}
	for i = 1, 130 do big[i] = "x" .. i .. "=" .. i end
	local made = loadstring("return {" .. table.concat(big, ",") .. "," .. table.concat(big, ","):gsub("x%d+=", "") .. "}")()
	assert(made.x130 == 130 and made[130] == 130)
	local len = 0
	for i = 1, 200 do
		local q = { i, i + 1, i + 2, k = i }
		len = len + #q + q[2] + q.k
	end
	print(len)
	return len
end
