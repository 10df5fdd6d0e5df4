-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The mathematics library at awkward points.
local huge = math.huge

local function f(x)
	if x ~= x then return "nan" end
	if x == 0 then return 1 / x < 0 and "-0" or "0" end
	return string.format("%.14g", x)
end

function run()
	for _, x in ipairs { 0.5, -0.5, 1.5, -1.5, 2.5, 0, -0.1, 2 ^ 52 + 0.5, 2 ^ 53, -2 ^ 52 - 0.5,
		1e300, huge, -huge, 0.49999999999999994 } do
		print(f(x), f(math.floor(x)), f(math.ceil(x)), f(math.abs(x)), f(math.sqrt(x)))
		local ip, fp = math.modf(x)
		local m, e = math.frexp(x)
		print(f(ip), f(fp), f(m), x - x == 0 and e or "-")
	end
	for _, name in ipairs { "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
		"exp", "log", "log10", "sqrt" } do
		local fn, line = math[name], {}
		for _, x in ipairs { 0, 1, -1, 0.5, 2, -2, 10, 100, 1e-9, 710, -750, 1e15, huge, -huge, 0 / 0 } do
			line[#line + 1] = f(fn(x))
		end
		print(name, table.concat(line, " "))
	end
	for _, y in ipairs { 0, 1, -1, huge, -huge } do
		for _, x in ipairs { 0, 1, -1, huge, -huge } do
			print(y, x, f(math.atan2(y, x)), f(math.fmod(y, x)), f(math.pow(y, x)))
		end
	end
	assert(math.fmod(7, 3) == 1 and math.fmod(-7, 3) == -1 and math.fmod(7, -3) == 1)
	assert(math.max(1, 2, 3) == 3 and math.min(3, 1, 2) == 1 and math.max(-huge) == -huge)
	assert(math.ldexp(1, 10) == 1024 and math.ldexp(0.5, -1073) == 2 ^ -1074)
	assert(math.deg(math.pi) == 180 and math.rad(180) == math.pi)
	assert(math.log(8, 2) == 3 and math.log(100, 10) == 2)
	assert(not pcall(math.max) and not pcall(math.sin) and not pcall(math.floor, {}))
	local s = 0
	for i = -200, 200 do
		local x = i / 4
		s = s + math.floor(x) * 3 + math.ceil(x) * 7 + math.abs(x) + math.max(x, 0) - math.min(x, 1)
	end
	print(f(s))
end
