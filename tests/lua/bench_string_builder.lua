-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Text: word wrap, CSV, Roman numerals, templates, Caesar and Vigenere ciphers, palindromes.
local function roman(n)
	local out = ""
	for _, p in ipairs { { 1000, "M" }, { 900, "CM" }, { 500, "D" }, { 400, "CD" }, { 100, "C" }, { 90, "XC" }, { 50, "L" },
		{ 40, "XL" }, { 10, "X" }, { 9, "IX" }, { 5, "V" }, { 4, "IV" }, { 1, "I" } } do
		while n >= p[1] do out, n = out .. p[2], n - p[1] end
	end
	return out
end
local function unroman(s)
	local v, total, last = { I = 1, V = 5, X = 10, L = 50, C = 100, D = 500, M = 1000 }, 0, 0
	for c in s:reverse():gmatch(".") do
		if v[c] < last then total = total - v[c] else total, last = total + v[c], v[c] end
	end
	return total
end
local function wrap(s, w)
	local lines, cur = {}, ""
	for word in s:gmatch("%S+") do
		if #cur + #word + 1 > w and cur ~= "" then lines[#lines + 1] = cur cur = word
		else cur = cur == "" and word or cur .. " " .. word end
	end
	lines[#lines + 1] = cur
	return lines
end
local function csv(line)
	local out, pos = {}, 1
	while true do
		local c = line:sub(pos, pos)
		if c == '"' then
			local txt = ""
			repeat
				local a, b, t = line:find('^"(.-)"', pos)
				assert(a, "unmatched quote")
				txt, pos = txt .. t, b + 1
				c = line:sub(pos, pos)
				if c == '"' then txt = txt .. '"' end
			until c ~= '"'
			out[#out + 1] = txt
			pos = pos + 1
		else
			local a, b = line:find(",", pos, true)
			out[#out + 1] = line:sub(pos, (a or 0) - 1)
			if not a then break end
			pos = b + 1
		end
		if pos > #line + 1 then break end
	end
	return out
end
local function shift(s, k) return (s:gsub("%l", function(c) return string.char((c:byte() - 97 + k) % 26 + 97) end)) end

function run()
	local h = 0
	for i = 1, 400 do
		local r = roman(i * 7)
		assert(unroman(r) == i * 7)
		h = (h * 31 + #r) % 1000003
	end
	print(h, roman(1994), roman(3888))
	for _, l in ipairs(wrap(("the quick brown fox jumps over the lazy dog "):rep(3), 30)) do print(l) end
	print(table.concat(csv('a,"b ""q"" c",,d e,"x,y"'), "|"))
	local text = "attack at dawn"
	for k = 0, 25 do assert(shift(shift(text, k), 26 - k) == text) end
	print(shift(text, 3))
	local pal = 0
	for i = 1, 1000 do local s = tostring(i) if s == s:reverse() then pal = pal + 1 end end
	assert(pal == 108)
	local tpl = ("Hello ${name}, you are ${age} years"):gsub("%${(%w+)}", { name = "Lua", age = "33" })
	print(tpl)
	return h, pal
end
