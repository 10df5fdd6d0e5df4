-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- __call, __len, __tostring, __metatable and callable chains.
function run()
	local adder = setmetatable({ base = 10 }, { __call = function(self, a, b) return self.base + a + (b or 0) end })
	assert(adder(1) == 11 and adder(1, 2) == 13)
	local function tail(x) return adder(x) end
	assert(tail(5) == 15)
	local var = setmetatable({}, { __call = function(_, ...) return select("#", ...), ... end })
	assert(select("#", var(1, nil, nil)) == 4)
	assert(pcall(var) and not pcall({}))
	print(pcall(setmetatable({}, { __call = 5 })))
	local chain = setmetatable({}, { __call = adder })
	print(pcall(chain, 1))
	local locked = setmetatable({}, { __metatable = "locked" })
	assert(getmetatable(locked) == "locked")
	print(pcall(setmetatable, locked, {}))
	local named = setmetatable({}, { __tostring = function() return "named" end })
	assert(tostring(named) == "named")
	print(named)
	print(pcall(tostring, setmetatable({}, { __tostring = function() error("inside", 0) end })))
	print(#setmetatable({ 1, 2 }, { __len = function() return 42 end }))
	assert(getmetatable("").__index == string)
	getmetatable("").__add = function(a, b) return "added" end
	print("x" + 1)
	getmetatable("").__add = nil
	local n = 0
	for i = 1, 300 do n = n + adder(i, i % 3) end
	print(n)
	local sorted = {}
	for k in pairs(setmetatable({ b = 1, a = 2 }, { __pairs = error })) do sorted[#sorted + 1] = k end
	table.sort(sorted)
	assert(table.concat(sorted) == "ab")
	return n
end
