-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- table.sort: sizes, patterns, comparison functions, stability of the result as a set.
local function check(t, lt)
	for i = 2, #t do
		assert(not lt(t[i], t[i - 1]))
	end
end

local function less(a, b) return a < b end
local function more(a, b) return a > b end

function run()
	local seed = 17
	local function rnd(n)
		seed = (seed * 16807) % 2147483647
		return seed % n
	end
	for _, n in ipairs { 0, 1, 2, 3, 4, 5, 10, 33, 100, 400 } do
		for pattern = 1, 5 do
			local t, sum = {}, 0
			for i = 1, n do
				t[i] = pattern == 1 and i or pattern == 2 and n - i or pattern == 3 and rnd(10)
					or pattern == 4 and rnd(1e6) or i % 7
				sum = sum + t[i]
			end
			table.sort(t)
			check(t, less)
			table.sort(t, more)
			check(t, more)
			for i = 1, n do sum = sum - t[i] end
			assert(sum == 0 and #t == n)
		end
	end
	local words = {}
	for w in ("the quick brown fox jumps over a lazy dog and runs"):gmatch("%a+") do words[#words + 1] = w end
	table.sort(words)
	print(table.concat(words, " "))
	table.sort(words, function(a, b)
		if #a ~= #b then return #a < #b end
		return a > b
	end)
	print(table.concat(words, " "))
	local recs = {}
	for i = 1, 150 do recs[i] = { key = rnd(1000), id = i } end
	table.sort(recs, function(a, b)
		if a.key ~= b.key then return a.key < b.key end
		return a.id < b.id
	end)
	local h = 0
	for i = 1, 150 do h = (h * 31 + recs[i].id) % 1000003 end
	print(h)
	print(pcall(table.sort, { 1, "x", 2 }))
	print(pcall(table.sort, { 3, 2, 1 }, function() error("cmp") end))
	print((pcall(table.sort, { 1, 2, 3 }, 5)))
	local mt = { __lt = function(a, b) return a.v < b.v end }
	local objs = {}
	for i = 1, 60 do objs[i] = setmetatable({ v = rnd(50) }, mt) end
	table.sort(objs)
	for i = 2, 60 do assert(objs[i - 1].v <= objs[i].v) end
	return h
end
