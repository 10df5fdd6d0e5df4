-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Every bit of the transcendental functions, interpreted and in traces.
local names = { "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log",
	"log10", "sqrt" }

local function digest(s, text)
	for i = 1, #text do
		s = (s * 31 + text:byte(i)) % 4294967291
	end
	return s
end

function run()
	for _, name in ipairs(names) do
		local f, s = math[name], 7
		for i = 1, 60 do
			local x = i * 0.37
			if name == "asin" or name == "acos" then x = x / 30 end
			local y = f(x)
			s = digest(s, string.format("%.17g", y))
		end
		print(name, string.format("%.0f", s), string.format("%.17g", f(0.7)))
	end
	local p, a = 3, 5
	for i = 1, 60 do
		p = digest(p, string.format("%.17g", (i * 0.31) ^ (i * 0.17 - 3)))
		a = digest(a, string.format("%.17g", math.atan2(i - 30, 17 - i)))
	end
	print("pow", string.format("%.0f", p))
	print("atan2", string.format("%.0f", a))
	for i = -8, 8 do
		assert(2 ^ i == math.ldexp(1, i))
		assert(math.abs(math.sin(i) ^ 2 + math.cos(i) ^ 2 - 1) < 1e-15)
		assert(math.abs(math.log(math.exp(i)) - i) < 1e-14)
	end
	local s = 0
	for i = 1, 1000 do
		s = s + math.sqrt(i) * (i % 2 * 2 - 1)
	end
	print(string.format("%.17g", s))
end
