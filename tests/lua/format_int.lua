-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- string.format with integer directives: flags, width, precision, extremes.
function run()
	for _, d in ipairs { "%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%.3d", "%8.3d", "%-8.3d|", "%i",
		"%u", "%x", "%X", "%#x", "%08X", "%o", "%#o", "%c" } do
		local line = {}
		for _, v in ipairs { 0, 1, 42, 255, 65 } do
			line[#line + 1] = string.format(d, v)
		end
		print(d, table.concat(line, ","))
	end
	for _, v in ipairs { -1, -42, 2147483647, -2147483648, 4294967295, 2 ^ 52, -2 ^ 52, 2 ^ 53 } do
		print(string.format("%d %5d %x %o %u", v, v, v, v, v))
	end
	assert(string.format("%d", 3.99) == "3" and string.format("%d", -3.99) == "-3")
	assert(string.format("%5.2s|", "abc") == "   ab|")
	assert(string.format("%99d", 1):len() == 99)
	for _, d in ipairs { "%100d", "%.100f", "%y", "%", "%ll", "%-+ #0123d" } do
		local ok, e = pcall(string.format, d, 1)
		print(d, ok, e)
		assert(not ok)
	end
	assert(not pcall(string.format, "%d", "x") and not pcall(string.format, "%d"))
	assert(string.format("%d%%", 50) == "50%")
	local n = 0
	for i = 1, 300 do
		n = n + #string.format("%d:%x", i, i)
	end
	print(n)
	return n
end
