-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Cyclic structures, closures that hold each other, long lists, dead coroutines.
function run()
	for _ = 1, 200 do
		local a, b = {}, {}
		a.b, b.a = b, a
		setmetatable(a, b)
		local f, g
		f = function() return g end
		g = function() return f end
		local co
		co = coroutine.create(function() coroutine.yield(co, a, f) end)
		coroutine.resume(co)
	end
	local list
	for i = 1, 5000 do list = { next = list, v = i } end
	collectgarbage("collect")
	local n, sum = 0, 0
	while list do
		n, sum = n + 1, sum + list.v
		list = list.next
	end
	assert(n == 5000 and sum == 12502500)
	list = nil
	collectgarbage("collect")
	assert(collectgarbage("count") < 600)
	local grey = {}
	for i = 1, 100 do
		grey[i] = {}
		collectgarbage("step", 1)
		grey[i].x = { i }
		grey[(i * 37) % i + 1].y = grey[i]
	end
	collectgarbage("collect")
	for i = 1, 100 do assert(grey[i].x[1] == i) end
	return n, sum
end
