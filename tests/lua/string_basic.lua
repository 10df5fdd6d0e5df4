-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- len, sub, byte, char, rep, reverse, upper and lower at every boundary.
function run()
	local s = "The quick brown fox\0jumps"
	assert(#s == 25 and s:len() == 25 and ("\0\0"):len() == 2)
	local lines = 0
	for i = -27, 27, 3 do
		local line = {}
		for j = -27, 27, 6 do
			line[#line + 1] = #s:sub(i, j)
		end
		print(i, table.concat(line, " "))
		lines = lines + 1
	end
	assert(s:sub(5, 9) == "quick" and s:sub(-5) == "jumps" and s:sub(3, 2) == "")
	assert(s:sub(0) == s and s:sub(-100, 100) == s and s:sub(100) == "")
	assert(("x"):sub(-2 ^ 31, 2 ^ 31 - 1) == "x" and ("abc"):sub(2 ^ 31 - 1) == "")
	assert(("abc"):byte() == 97 and ("abc"):byte(-1) == 99 and ("abc"):byte(4) == nil)
	assert(select("#", ("abc"):byte(1, -1)) == 3 and select("#", ("abc"):byte(10, 20)) == 0)
	assert(string.char() == "" and string.char(0, 255, 65) == "\0\255A")
	assert(not pcall(string.char, 256) and not pcall(string.char, -1))
	assert(("ab"):rep(3) == "ababab" and ("ab"):rep(0) == "" and ("ab"):rep(-1) == "")
	assert((""):rep(1e6) == "" and ("x"):rep(1000) == string.rep("xx", 500))
	assert(("ab"):rep(3, ",") == "ab,ab,ab" and ("ab"):rep(1, ",") == "ab")
	assert(("abc"):reverse() == "cba" and (""):reverse() == "" and ("a\0b"):reverse() == "b\0a")
	assert(("aBc1\255"):upper() == "ABC1\255" and ("aBc1\255"):lower() == "abc1\255")
	local all = {}
	for c = 0, 255 do all[#all + 1] = string.char(c) end
	all = table.concat(all)
	assert(#all == 256)
	local sum = 0
	for c = 0, 255 do
		assert(all:byte(c + 1) == c)
		sum = sum + (all:upper():byte(c + 1)) * 3 + (all:lower():byte(c + 1))
	end
	print(sum)
	local back = {}
	for i = #all, 1, -1 do back[#back + 1] = all:sub(i, i) end
	assert(table.concat(back) == all:reverse())
	return lines, sum
end
