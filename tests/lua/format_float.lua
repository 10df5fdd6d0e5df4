-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- string.format with floating-point directives over sizes and precisions.
local values = { 0, 1, -1, 0.5, 123.456, -123.456, 1e-10, 1e10, 1e100, 1e-100, 1 / 3, 5e-324,
	1.7976931348623157e308, 999999.5, 0.00001234, math.huge, -math.huge }

function run()
	for _, d in ipairs { "%f", "%.0f", "%.3f", "%10.2f", "%-10.2f|", "%+.1f", "%e", "%.0e", "%.10E", "%g",
		"%.3g", "%#.3g", "%G", "%a", "%.2a", "%A", "%014.3f", "% .4f" } do
		local line = {}
		for _, v in ipairs(values) do
			local s = string.format(d, v)
			line[#line + 1] = #s > 40 and s:sub(1, 12) .. "~" .. #s or s
		end
		print(d, table.concat(line, ","))
	end
	assert(string.format("%.3f", 2 / 3) == "0.667")
	assert(string.format("%5.1f|%-8g|%08.2f", 3.14159, 2.5, -1.5) == "  3.1|2.5     |-0001.50")
	assert(string.format("%.14g", 0.1) == "0.1" and string.format("%.17g", 0.1) == "0.10000000000000001")
	assert(string.format("%.20f", 0.1) == "0.10000000000000000555")
	assert(string.format("%a", 1) == "0x1p+0" and string.format("%a", 0.5) == "0x1p-1")
	assert(#string.format("%.99f", 1 / 3) == 101)
	assert(#string.format("%f", 1e308) == 316)
	local sum = 0
	for i = 1, 200 do
		sum = sum + tonumber(string.format("%.3f", i / 7))
	end
	print(string.format("%.6f", sum))
end
