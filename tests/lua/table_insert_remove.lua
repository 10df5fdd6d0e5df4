-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- table.insert and table.remove at both ends and in the middle.
function run()
	local t = {}
	for i = 1, 100 do table.insert(t, i) end
	for i = 1, 50 do table.insert(t, 1, -i) end
	table.insert(t, 75, "mid")
	assert(#t == 151 and t[1] == -50 and t[75] == "mid" and t[151] == 100)
	assert(table.remove(t, 75) == "mid")
	for i = 50, 1, -1 do assert(table.remove(t, 1) == -i) end
	for i = 100, 1, -1 do assert(table.remove(t) == i) end
	assert(table.remove(t) == nil and #t == 0 and table.remove({}, 1) == nil)
	print(pcall(table.insert, {}, 1, 2, 3))
	print(pcall(table.insert, {}))
	print(pcall(table.insert, nil, 1))
	local q, head, n = {}, 1, 0
	for i = 1, 600 do
		q[#q + 1] = i
		if i % 3 == 0 then
			n = n + q[head]
			q[head] = nil
			head = head + 1
		end
	end
	print(n)
	local stack, depth = {}, 0
	for i = 1, 500 do
		stack[#stack + 1] = i
		if i % 5 == 0 then
			for _ = 1, 3 do depth = depth + table.remove(stack) end
		end
	end
	print(#stack, depth)
	assert(#stack == 200)
	return n, depth
end
