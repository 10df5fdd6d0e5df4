-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Classes, inheritance, super calls and method calls in hot loops.
local Animal = {}
Animal.__index = Animal
function Animal.new(name) return setmetatable({ name = name, n = 0 }, Animal) end
function Animal:speak() self.n = self.n + 1 return self.name .. " makes a sound" end
function Animal:legs() return 4 end

local Bird = setmetatable({}, { __index = Animal })
Bird.__index = Bird
function Bird.new(name) return setmetatable(Animal.new(name), Bird) end
function Bird:speak() return Animal.speak(self) .. ": tweet" end
function Bird:legs() return 2 end

function run()
	local zoo = {}
	for i = 1, 10 do zoo[i] = i % 3 == 0 and Bird.new("b" .. i) or Animal.new("a" .. i) end
	print(zoo[1]:speak(), zoo[3]:speak())
	local legs = 0
	for round = 1, 100 do
		for i = 1, 10 do legs = legs + zoo[i]:legs() end
		if round == 50 then function Animal:legs() return 6 end end
	end
	assert(legs == 50 * (7 * 4 + 6) + 50 * (7 * 6 + 6))
	local calls = 0
	for _ = 1, 50 do
		for i = 1, 10 do calls = calls + #zoo[i]:speak() end
	end
	assert(zoo[1].n == 51 and zoo[3].n == 51)
	print(legs, calls)
	print(pcall(function() zoo[1]:fly() end))
	return legs, calls
end
