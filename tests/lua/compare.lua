-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Equality and order over every pair of kinds.
local function kind(f, a, b)
	local ok, r = pcall(f, a, b)
	if ok then return tostring(r) end
	return "error " .. r:gsub("^.-:%d+: ", "")
end

function run()
	local t, g = {}, function() end
	local co = coroutine.create(g)
	local v = { nil, false, true, 0, 1, "0", "1", "", t, g, co }
	local n = 11
	for i = 1, n do
		for j = 1, n do
			local a, b = v[i], v[j]
			assert((a == b) == (i == j))
			assert((a ~= b) == (i ~= j))
			assert(rawequal(a, b) == (i == j))
		end
	end
	local seen = {}
	for i = 1, n do
		for j = 1, n do
			local s = kind(function(a, b) return a < b end, v[i], v[j])
			seen[s] = (seen[s] or 0) + 1
		end
	end
	local keys = {}
	for k in pairs(seen) do keys[#keys + 1] = k end
	table.sort(keys)
	for _, k in ipairs(keys) do print(k, seen[k]) end
	assert(1 < 2 and not (2 < 1) and 1 <= 1 and 2 >= 2 and not (1 > 1))
	assert("a" < "b" and "a" < "aa" and "Z" < "a" and "" < "a" and "a" <= "a")
	assert("a\0b" > "a" and "a\0a" < "a\0b")
	assert(not (nil == false))
	assert((1 and 2) == 2 and (nil or 3) == 3 and (false and 1) == false and (nil and 1) == nil)
	assert(not nil == true and not 0 == false and not "" == false)
	-- Comparisons by constants of each kind, hot.
	local hits = 0
	for i = 1, 400 do
		local x = v[i % n + 1]
		if x == nil then hits = hits + 1 end
		if x == true then hits = hits + 10 end
		if x == 1 then hits = hits + 100 end
		if x == "1" then hits = hits + 1000 end
		if x == t then hits = hits + 10000 end
	end
	print(hits)
	return hits
end
