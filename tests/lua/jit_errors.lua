-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Errors thrown out of compiled code, caught outside, with state intact.
function run()
	local done = 0
	local function work(limit)
		local t = {}
		for i = 1, 300 do
			t[i] = i
			done = i
			if i == limit then error("limit " .. i, 0) end
		end
		return #t
	end
	print(pcall(work, 250))
	assert(done == 250)
	print(pcall(work, 301))
	print(pcall(work, 3))
	local caught, sum = 0, 0
	for i = 1, 300 do
		local ok, v = pcall(function(x)
			if x % 7 == 0 then error(x, 0) end
			return x
		end, i)
		if ok then sum = sum + v else caught = caught + 1 end
	end
	assert(caught == 42 and sum == 45150 - 7 * 903)
	local function idx(t, i) return t[i].v end
	local data = {}
	for i = 1, 200 do data[i] = { v = i } end
	data[180] = nil
	local reached = 0
	print(pcall(function() for i = 1, 200 do reached = idx(data, i) end end))
	assert(reached == 179)
	local acc = 0
	print(pcall(function() for i = 1, 300 do acc = acc + (i < 200 and i or "x") end end))
	assert(acc == 19900)
	local s = ""
	print(pcall(function() for i = 1, 300 do s = s .. (i < 100 and "." or {}) end end))
	assert(#s == 99)
	local co = coroutine.wrap(function()
		for i = 1, 300 do
			if i == 222 then error("in coroutine " .. i, 0) end
			if i % 50 == 0 then coroutine.yield(i) end
		end
	end)
	local got = {}
	for i = 1, 5 do got[i] = select(2, pcall(co)) end
	print(table.concat(got, " "))
	return caught, sum
end
