-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Numbers to text: the default conversion and every precision.
local values = { 0, 1, -1, 10, 1e14, 1e15, 1e16, 123456789012345, 0.1, 0.2, 0.3,
	1 / 3, 2 / 3, 1e-5, 1e-4, 123.456, 1e21, 1e22, 1e23, 5e-324, 2.2250738585072014e-308,
	1.7976931348623157e308, 2 ^ 63, 2 ^ 53 + 2, 0.1 + 0.2, 9.5, 0.5, 1.5, 2.5,
	99999999999999.5, 999999999999995, 1e100, 1.0282312889578505e-236 }

function run()
	-- A number that is whole after rescaling, and above a tie.
	assert(tostring(1.0282312889578505e-236) == "1.0282312889579e-236")
	for _, v in ipairs(values) do
		print(tostring(v), tostring(-v), v .. "", string.format("%.17g", v))
		assert(tonumber(string.format("%.17g", v)) == v)
	end
	assert(tostring(1e15) == "1e+15" and tostring(1e14) == "1e+14")
	assert(tostring(100000000000000) == "1e+14")
	assert(tostring(12345678901234) == "12345678901234")
	assert(tostring(0.1) == "0.1" and tostring(-0.5) == "-0.5")
	assert(tostring(math.huge) == "inf" and tostring(-math.huge) == "-inf")
	assert(tostring(3) == "3" and tostring(3.0) == "3")
	for p = 0, 20, 4 do
		print(string.format("%." .. p .. "f %." .. p .. "e %." .. p .. "g",
			1 / 7, 12345.678, 1e-7))
	end
	-- Round trips of a spread of bit patterns.
	local x, bad = 1, 0
	for i = 1, 500 do
		x = (x * 16807) % 2147483647
		local v = math.ldexp(x / 2147483647, i - 250)
		if tonumber(string.format("%.17g", v)) ~= v then bad = bad + 1 end
	end
	assert(bad == 0)
	-- Half-way cases round to even.
	print(string.format("%.0f %.0f %.0f %.0f %.1f %.2f", 0.5, 1.5, 2.5, 3.5, 0.25, 1.005))
	assert(string.format("%.0f", 0.5) == "0" and string.format("%.0f", 1.5) == "2")
end
