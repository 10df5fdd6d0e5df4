-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- string.format %s and %q: escapes, padding, __tostring, embedded zeros.
local T = setmetatable({}, { __tostring = function() return "T!" end })

function run()
	print(string.format("%s %10s|%-10s|%.2s|%10.3s|", "x", "right", "left", "cut", "precise"))
	print(string.format("%s %s %s %s", nil, true, 1.5, T))
	assert(string.format("%s", "a\0b") == "a\0b")
	assert(#string.format("%s", ("x"):rep(5000)) == 5000)
	assert(#string.format("%200s" and "%99s", "x") == 99)
	assert(string.format("%5s", T) == "   T!")
	for _, s in ipairs { "plain", 'quo"te', "back\\slash", "new\nline", "cr\r", "zero\0byte", "zero\0001",
		"\1\2\0319", "\127\200\255", "tab\t" } do
		local q = string.format("%q", s)
		print(q)
		assert(loadstring("return " .. q)() == s)
	end
	local all = {}
	for c = 0, 255 do all[#all + 1] = string.char(c) end
	all = table.concat(all)
	assert(loadstring("return " .. string.format("%q", all))() == all)
	assert(string.format("") == "" and string.format("%%") == "%")
	assert(string.format("%s%s%s%s%s%s%s%s%s%s", 1, 2, 3, 4, 5, 6, 7, 8, 9, 0) == "1234567890")
	assert(not pcall(string.format, "%s"))
	local ok, e = pcall(string.format, "%s %s", 1)
	print(ok, e)
	local bad = setmetatable({}, { __tostring = function() return 1 end })
	print(pcall(string.format, "%s", bad))
	local n = 0
	for i = 1, 300 do n = n + #string.format("%s-%s", i, "k" .. i) end
	return n
end
