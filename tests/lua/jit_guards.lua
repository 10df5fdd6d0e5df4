-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Assumptions of traces, invalidated after compilation.
function run()
	local mt1 = { __index = function() return 1 end }
	local mt2 = { __index = function() return 2 end }
	local o, s = setmetatable({}, mt1), 0
	for i = 1, 300 do
		s = s + o.x
		if i == 150 then setmetatable(o, mt2) end
		if i == 250 then o.x = 10 end
	end
	assert(s == 150 + 200 + 500)
	local f = function(x) return x end
	s = 0
	for i = 1, 300 do
		s = s + f(i)
		if i == 200 then f = function(x) return -x end end
	end
	assert(s == 20100 - 25050)
	local old, calls = math.abs, 0
	for i = 1, 200 do
		calls = calls + math.abs(-1)
		if i == 100 then math.abs = function() return 5 end end
	end
	math.abs = old
	assert(calls == 600)
	local up, g = 1, nil
	g = function() return up end
	s = 0
	for i = 1, 300 do
		s = s + g()
		if i == 100 then up = 2.5 elseif i == 200 then up = "4" end
	end
	assert(s == 100 + 250 + 400)
	local smt = getmetatable("")
	s = 0
	for i = 1, 200 do
		s = s + (("x").extra and 1 or 0)
		if i == 120 then string.extra = true end
	end
	string.extra = nil
	assert(s == 80 and smt.__index == string)
	GLOBAL = 1
	s = 0
	for i = 1, 300 do
		s = s + GLOBAL
		if i == 150 then GLOBAL = 0.5 end
	end
	GLOBAL = nil
	assert(s == 225)
	local t = { 1, 2, 3 }
	s = 0
	for i = 1, 300 do
		s = s + #t
		if i % 100 == 0 then t[#t + 1] = i end
	end
	assert(s == 300 + 400 + 500)
	local eq = 0
	local a, b = setmetatable({}, { __eq = function() return true end }), nil
	b = setmetatable({}, getmetatable(a))
	for i = 1, 200 do
		if a == b then eq = eq + 1 end
		if i == 100 then getmetatable(a).__eq = nil end
	end
	assert(eq == 100)
	return s, calls
end
