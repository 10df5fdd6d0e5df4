-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- LZ77 and run-length coding: compress, expand, compare.
local function lz(s)
	local out, pos, seen = {}, 1, {}
	while pos <= #s do
		local key = s:sub(pos, pos + 2)
		local at, len = seen[key], 0
		if at and #key == 3 then
			len = 3
			while len < 60 and pos + len <= #s and s:byte(at + len) == s:byte(pos + len) do len = len + 1 end
			out[#out + 1] = string.char(128 + len) .. string.char(math.floor((pos - at) / 256), (pos - at) % 256)
		else
			len = 1
			out[#out + 1] = s:sub(pos, pos)
		end
		for i = pos, pos + len - 1 do seen[s:sub(i, i + 2)] = i end
		pos = pos + len
	end
	return table.concat(out)
end
local function unlz(z)
	local out, n, i = {}, 0, 1
	while i <= #z do
		local b = z:byte(i)
		if b >= 128 then
			local hi, lo = z:byte(i + 1, i + 2)
			local from = n - (hi * 256 + lo)
			for k = 1, b - 128 do out[n + k] = out[from + k] end
			n = n + b - 128
			i = i + 3
		else
			n = n + 1
			out[n] = string.char(b)
			i = i + 1
		end
	end
	return table.concat(out)
end

function run()
	local text = {}
	local words = { "alpha ", "beta ", "gamma ", "delta ", "alphabet ", "gam" }
	local x = 5
	for i = 1, 300 do x = (x * 16807) % 2147483647 text[i] = words[x % #words + 1] end
	text = table.concat(text)
	local z = lz(text)
	assert(unlz(z) == text)
	assert(#z < #text * 0.8)
	print(#text, #z)
	for _, s in ipairs { "", "a", "aaa", ("a"):rep(500), "abcabcabcabc" } do assert(unlz(lz(s)) == s) end
	local h = 0
	for i = 1, #z do h = (h * 257 + z:byte(i)) % 1000003 end
	print(h)
	return #z, h
end
