-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Arithmetic, concatenation and unary metamethods on either operand.
local V = {}
V.__index = V
local function vec(x, y) return setmetatable({ x = x, y = y }, V) end
local function lift(a) return type(a) == "number" and vec(a, a) or a end
V.__add = function(a, b) a, b = lift(a), lift(b) return vec(a.x + b.x, a.y + b.y) end
V.__sub = function(a, b) a, b = lift(a), lift(b) return vec(a.x - b.x, a.y - b.y) end
V.__mul = function(a, b) a, b = lift(a), lift(b) return vec(a.x * b.x, a.y * b.y) end
V.__div = function(a, b) a, b = lift(a), lift(b) return vec(a.x / b.x, a.y / b.y) end
V.__mod = function(a, b) a, b = lift(a), lift(b) return vec(a.x % b.x, a.y % b.y) end
V.__pow = function(a, b) a, b = lift(a), lift(b) return vec(a.x ^ b.x, a.y ^ b.y) end
V.__unm = function(a) return vec(-a.x, -a.y) end
V.__concat = function(a, b) return tostring(a) .. "&" .. tostring(b) end
V.__tostring = function(a) return "(" .. a.x .. "," .. a.y .. ")" end
V.__eq = function(a, b) return a.x == b.x and a.y == b.y end

function run()
	local a, b = vec(1, 2), vec(3, 5)
	print(tostring(a + b), tostring(a - 1), tostring(2 * b), tostring(b / a), tostring(b % 2), tostring(a ^ b))
	print(tostring(-a), a .. b, a .. "s", 1 .. a, "x" .. a .. b)
	assert(a + b == vec(4, 7) and a ~= b)
	print(pcall(function() return a + {} end))
	print(pcall(function() return {} .. "x" end))
	local acc = vec(0, 0)
	for i = 1, 500 do
		acc = acc + vec(i, -i) * 2 - 1
	end
	print(tostring(acc))
	assert(acc == vec(250000, -251000))
	local multi = setmetatable({}, { __add = function() return 1, 2, 3 end })
	assert(select("#", multi + 1) == 1)
	return acc.x, acc.y
end
