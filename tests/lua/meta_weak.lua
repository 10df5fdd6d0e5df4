-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Weak keys and values, and which of them a collection keeps.
local function count(t)
	local n = 0
	for _ in pairs(t) do n = n + 1 end
	return n
end

function run()
	local v = setmetatable({}, { __mode = "v" })
	local k = setmetatable({}, { __mode = "k" })
	local kv = setmetatable({}, { __mode = "kv" })
	local keep = {}
	for i = 1, 100 do
		local o = { i }
		if i % 10 == 0 then keep[#keep + 1] = o end
		v[i], k[o], kv[o] = o, i, o
	end
	v.str, v.num = "string stays", 5
	collectgarbage("collect")
	collectgarbage("collect")
	print(count(v), count(k), count(kv))
	assert(count(v) == 12 and count(k) == 10 and count(kv) == 10)
	local sum = 0
	for o, i in pairs(k) do
		assert(o[1] == i)
		sum = sum + i
	end
	assert(sum == 550)
	assert(v.str == "string stays" and v[10] == keep[1] and v[11] == nil)
	keep = nil
	collectgarbage("collect")
	collectgarbage("collect")
	assert(count(k) == 0 and count(kv) == 0)
	return sum
end
