-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- __eq, __lt and __le, with the 5.1 rule that both sides share the metamethod.
local M = {}
M.__eq = function(a, b) return a.v == b.v end
M.__lt = function(a, b) return a.v < b.v end
M.__le = function(a, b) return a.v <= b.v end
local function new(v) return setmetatable({ v = v }, M) end

function run()
	local a, b, c = new(1), new(2), new(1)
	assert(a == c and a ~= b and a < b and b > a and a <= c and a >= c and not (b <= a))
	assert(not rawequal(a, c))
	assert(a ~= 1 and not (a == "x"))
	local other = setmetatable({ v = 1 }, { __eq = function() return true end })
	print(a == other, pcall(function() return a < 1 end))
	print(pcall(function() return a < {} end))
	local only = setmetatable({}, { __lt = function() return true end })
	local only2 = setmetatable({}, getmetatable(only))
	print(only < only2, only <= only2)
	local truthy = { __lt = function() return 0 end, __eq = function() return "x" end }
	local p, q = setmetatable({}, truthy), setmetatable({}, truthy)
	assert((p < q) == true and (p == q) == true)
	local n = 0
	for i = 1, 300 do
		local x, y = new(i % 5), new(i % 7)
		if x == y then n = n + 1 end
		if x < y then n = n + 10 end
		if x <= y then n = n + 100 end
	end
	print(n)
	return n
end
