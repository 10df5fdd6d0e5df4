-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A round-robin scheduler with channels: producers, filters, consumers.
local function channel() return { items = {}, first = 1, last = 0 } end
local function send(c, v) c.last = c.last + 1 c.items[c.last] = v coroutine.yield() end
local function recv(c)
	while c.first > c.last do coroutine.yield() end
	local v = c.items[c.first]
	c.items[c.first] = nil
	c.first = c.first + 1
	return v
end

function run()
	local numbers, squares, out = channel(), channel(), {}
	local tasks = {
		coroutine.create(function() for i = 1, 100 do send(numbers, i) end send(numbers, false) end),
		coroutine.create(function()
			while true do
				local v = recv(numbers)
				if not v then break end
				send(squares, v * v)
			end
			send(squares, false)
		end),
		coroutine.create(function()
			while true do
				local v = recv(squares)
				if not v then return end
				out[#out + 1] = v
			end
		end),
	}
	local steps, alive = 0, 3
	while alive > 0 do
		for i = #tasks, 1, -1 do
			local ok, e = coroutine.resume(tasks[i])
			assert(ok, e)
			steps = steps + 1
			if coroutine.status(tasks[i]) == "dead" then
				table.remove(tasks, i)
				alive = alive - 1
			end
		end
	end
	local sum = 0
	for _, v in ipairs(out) do sum = sum + v end
	assert(#out == 100 and sum == 338350)
	print(steps, sum)
	return steps
end
