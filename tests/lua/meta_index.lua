-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- __index and __newindex: chains, functions, rawget and rawset, missing keys.
function run()
	local base = { color = "red", n = 0 }
	local mid = setmetatable({ size = 5 }, { __index = base })
	local leaf = setmetatable({}, { __index = mid })
	assert(leaf.color == "red" and leaf.size == 5 and leaf.none == nil)
	assert(rawget(leaf, "size") == nil)
	leaf.size = 6
	assert(mid.size == 5 and leaf.size == 6)
	local log = {}
	local proxy = setmetatable({}, {
		__index = function(_, k) log[#log + 1] = "get " .. tostring(k) return k end,
		__newindex = function(t, k, v) log[#log + 1] = "set " .. tostring(k) rawset(t, k, v) end,
	})
	assert(proxy.x == "x")
	proxy.x = 1
	proxy.x = 2
	assert(proxy.x == 2 and proxy[1] == 1)
	print(table.concat(log, "; "))
	local store = {}
	local redirect = setmetatable({}, { __newindex = store, __index = store })
	redirect.a = 1
	assert(rawget(redirect, "a") == nil and store.a == 1 and redirect.a == 1)
	local nan, keys = 0 / 0, 0
	local any = setmetatable({}, { __newindex = function(_, k)
		keys = keys + ((k == nil or k ~= k) and 1 or 0)
	end })
	any[store.nothing], any[nan] = 1, 2
	assert(keys == 2 and next(any) == nil)
	local cache = setmetatable({}, { __index = function(t, k)
		local v = k < 2 and k or t[k - 1] + t[k - 2]
		t[k] = v
		return v
	end })
	assert(cache[50] == 12586269025)
	local deep = { v = 42 }
	for _ = 1, 80 do deep = setmetatable({}, { __index = deep }) end
	assert(deep.v == 42)
	local loop = {}
	setmetatable(loop, { __index = loop })
	print(pcall(function() return loop.x end))
	setmetatable(loop, { __newindex = loop })
	print(pcall(function() loop.x = 1 end))
	local sum = 0
	for i = 1, 400 do
		sum = sum + leaf.n + #leaf.color + leaf.size
		if i == 200 then base.color = "green" end
	end
	print(sum)
	print(pcall(function() local q; return q.x end))
	print(pcall(function() return leaf.none.x end))
	return cache[50], sum
end
