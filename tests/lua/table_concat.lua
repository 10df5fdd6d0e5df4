-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- table.concat: separators, ranges, numbers, errors.
function run()
	assert(table.concat({}) == "" and table.concat({ "a" }, ",") == "a")
	assert(table.concat({ 1, 2, 3 }, "-") == "1-2-3" and table.concat({ 1, 2.5, "x" }) == "12.5x")
	assert(table.concat({ 1, 2, 3, 4 }, ",", 2, 3) == "2,3" and table.concat({ 1, 2 }, ",", 3) == "")
	assert(table.concat({ [0] = "z", "a" }, "", 0, 1) == "za")
	print(pcall(table.concat, { 1, {}, 3 }))
	print(pcall(table.concat, { 1, nil, 3 }, ",", 1, 3))
	print(pcall(table.concat, { 1, 2 }, {}))
	print(pcall(table.concat))
	local t = {}
	for i = 1, 2000 do t[i] = i end
	local s = table.concat(t, " ")
	local sum = 0
	for w in s:gmatch("%d+") do sum = sum + w end
	assert(sum == 2001000)
	local n = 0
	for i = 1, 200 do n = n + #table.concat({ i, i * 2, "x" }, "::") end
	print(#s, n)
	return n
end
