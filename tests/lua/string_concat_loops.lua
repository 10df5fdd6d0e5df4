-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Strings grown, cut and compared in loops that get compiled.
function run()
	local s, n = "", 0
	for i = 1, 400 do
		s = s .. i % 10
	end
	assert(#s == 400 and s:sub(1, 11) == "12345678901")
	for i = 1, #s do
		if s:sub(i, i) == "7" then n = n + 1 end
	end
	assert(n == 40)
	local digits = 0
	for i = 1, #s do digits = digits + s:byte(i) - 48 end
	assert(digits == 40 * 45)
	local parts = {}
	for i = 1, 400 do parts[i] = "k" .. i .. "=" .. i * 1.5 .. ";" end
	local joined = table.concat(parts)
	local h = 0
	for i = 1, #joined do h = (h * 33 + joined:byte(i)) % 2 ^ 32 end
	print(#joined, h)
	local same, last = 0, nil
	for i = 1, 200 do
		local k = "key" .. i % 4
		if k == last then same = same + 1 end
		if i % 3 == 0 then last = k end
	end
	print(same)
	local left = ""
	for i = 1, 200 do left = string.char(97 + i % 26) .. left end
	assert(left:reverse():sub(1, 3) == "bcd")
	local rev = ""
	for c in left:gmatch(".") do rev = c .. rev end
	assert(rev == left:reverse())
	local up = 0
	for i = 1, 200 do
		local c = string.char(65 + i % 26)
		if c:lower():upper() == c then up = up + #(c:rep(i % 5)) end
	end
	print(up)
	return #joined, h
end
