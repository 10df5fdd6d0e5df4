-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- next, pairs and clearing or changing fields during traversal.
local function keys(t)
	local k = {}
	for key in pairs(t) do k[#k + 1] = tostring(key) end
	table.sort(k)
	return table.concat(k, " ")
end

function run()
	local t = { 10, 20, 30, a = 1, b = 2, [100] = 3, [-5] = 4 }
	print(keys(t))
	for k in pairs(t) do t[k] = nil end
	assert(next(t) == nil)
	for i = 1, 200 do t["k" .. i] = i end
	for k, v in pairs(t) do
		if v % 2 == 0 then t[k] = nil else t[k] = -v end
	end
	local n, sum = 0, 0
	for _, v in pairs(t) do n, sum = n + 1, sum + v end
	assert(n == 100 and sum == -10000)
	local k, v, steps = nil, nil, 0
	repeat
		k, v = next(t, k)
		if k then steps = steps + v end
	until k == nil
	assert(steps == sum)
	local nested, total = {}, 0
	for i = 1, 10 do
		nested[i] = {}
		for j = 1, i do nested[i]["f" .. j] = j end
	end
	for _, row in pairs(nested) do
		for _, x in pairs(row) do total = total + x end
	end
	assert(total == 220)
	for i, x in ipairs { 1, 2, nil, 4 } do assert(i <= 2 and x == i) end
	for i, x in next, { 5 } do assert(i == 1 and x == 5) end
	assert(not pcall(next, {}, 1))
	return n, total
end
