-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- pcall in loops, nested, across coroutines and around every kind of failure.
function run()
	local order = {}
	local ok, e = pcall(function()
		order[#order + 1] = 1
		local ok2, e2 = pcall(function()
			order[#order + 1] = 2
			error("inner", 0)
		end)
		order[#order + 1] = 3
		assert(not ok2 and e2 == "inner")
		error("outer", 0)
	end)
	assert(not ok and e == "outer" and table.concat(order) == "123")
	assert(select("#", pcall(function() return 1, nil, nil end)) == 4)
	local function deep(n)
		if n == 0 then error("deep", 0) end
		local good, err = pcall(deep, n - 1)
		error(err, 0)
	end
	print(pcall(deep, 100))
	local good, bad = 0, 0
	for i = 1, 500 do
		local r = pcall(i % 4 == 0 and error or type, i)
		if r then good = good + 1 else bad = bad + 1 end
	end
	assert(good == 375 and bad == 125)
	local co = coroutine.create(function()
		local r, x = pcall(function()
			local y = coroutine.yield("in pcall")
			error("after " .. y, 0)
		end)
		return r, x
	end)
	print(coroutine.resume(co))
	print(coroutine.resume(co, "resume"))
	print(coroutine.resume(co))
	local t = {}
	for i = 1, 60 do
		t[i] = select(2, pcall(function() return i < 30 and i or nil + 1 end))
	end
	print(t[1], t[29], t[30], t[60])
	return good, bad
end
