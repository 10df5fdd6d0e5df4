-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- String work that is compiled: sub, byte, char, find, rep, format, concatenation, comparison.
function run()
	local text = ("The quick brown fox. "):rep(20)
	local vowels, upper, spaces = 0, 0, 0
	for i = 1, #text do
		local c = text:sub(i, i)
		if c == "a" or c == "e" or c == "i" or c == "o" or c == "u" then vowels = vowels + 1 end
		local b = text:byte(i)
		if b >= 65 and b <= 90 then upper = upper + 1 end
		if b == 32 then spaces = spaces + 1 end
	end
	assert(vowels == 100 and upper == 20 and spaces == 80)
	local rot = {}
	for i = 1, #text do
		local b = text:byte(i)
		if b >= 97 and b <= 122 then b = (b - 97 + 13) % 26 + 97 end
		rot[i] = string.char(b)
	end
	print(table.concat(rot, "", 1, 21))
	local n = 0
	for i = 1, 200 do
		local s = "item" .. i
		n = n + #s + (s:find("1", 1, true) or 0) + #s:upper() + #s:rep(2) + #s:reverse()
		if s < "item5" then n = n + 1 end
		n = n + tonumber(s:sub(5)) + #string.format("%03d:%s:%5.1f", i, s, i / 3)
	end
	print(n)
	local out = ""
	for i = 1, 150 do
		out = out .. (i % 15 == 0 and "FB" or i % 3 == 0 and "F" or i % 5 == 0 and "B" or i) .. ","
	end
	print(#out, out:sub(-20))
	local b1 = 0
	for i = 1, 200 do
		local a, b, c = ("xyz"):byte(1, 3)
		b1 = b1 + a + b * 2 + c * 3 + select("#", ("xyz"):byte(i % 5, 3))
	end
	print(b1)
	local eq = 0
	for i = 1, 300 do
		local s = string.char(97 + i % 3, 97 + i % 2)
		if s == "ab" then eq = eq + 1 elseif s ~= "ba" then eq = eq + 1000 end
	end
	print(eq)
	return n, b1, eq
end
