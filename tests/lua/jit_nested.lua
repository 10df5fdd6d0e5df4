-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Loops in loops in loops, with inner bounds that vary and inner exits.
function run()
	local s = 0
	for i = 1, 20 do for j = 1, 20 do for k = 1, 20 do s = s + (i * j + k) % 7 end end end
	print(s)
	local tri = 0
	for i = 1, 60 do for j = i, 60 do tri = tri + 1 end end
	assert(tri == 1830)
	local found = 0
	for i = 1, 60 do
		local j = 1
		while j * j <= i do
			if j * j == i then found = found + 1 end
			j = j + 1
		end
	end
	assert(found == 7)
	local n = 0
	for i = 1, 50 do
		for j = 1, 50 do
			if (i + j) % 11 == 0 then break end
			repeat
				n = n + 1
				if n % 3 == 0 then break end
			until n % 5 == 0
		end
	end
	print(n)
	local calls = 0
	local function inner(k) local r = 0 for q = 1, k % 5 do r = r + q end calls = calls + 1 return r end
	local t = 0
	for i = 1, 40 do for j = 1, 10 do t = t + inner(i + j) end end
	assert(calls == 400)
	local grid = {}
	for y = 1, 30 do grid[y] = {} for x = 1, 30 do grid[y][x] = (x * y) % 4 end end
	local same = 0
	for y = 2, 29 do for x = 2, 29 do
		for dy = -1, 1 do for dx = -1, 1 do
			if grid[y + dy][x + dx] == grid[y][x] then same = same + 1 end
		end end
	end end
	print(t, same)
	return s, n, same
end
