-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Conway's game of life on a torus.
local function step(g, w, h)
	local n = {}
	for y = 1, h do
		local up, mid, dn, row = g[(y - 2) % h + 1], g[y], g[y % h + 1], {}
		for x = 1, w do
			local l, r = (x - 2) % w + 1, x % w + 1
			local s = up[l] + up[x] + up[r] + mid[l] + mid[r] + dn[l] + dn[x] + dn[r]
			row[x] = (s == 3 or s == 2 and mid[x] == 1) and 1 or 0
		end
		n[y] = row
	end
	return n
end

function run()
	local w, h, g = 24, 16, {}
	for y = 1, h do g[y] = {} for x = 1, w do g[y][x] = 0 end end
	for _, p in ipairs { { 2, 1 }, { 3, 2 }, { 1, 3 }, { 2, 3 }, { 3, 3 } } do g[p[2]][p[1]] = 1 end
	local start = {}
	for y = 1, h do start[y] = table.concat(g[y]) end
	for _ = 1, 32 do g = step(g, w, h) end
	for y = 1, h do print(table.concat(g[y])) end
	local n = 0
	for y = 1, h do for x = 1, w do
		n = n + g[y][x]
		assert(g[y][x] == start[(y - 9) % h + 1]:byte((x - 9) % w + 1) - 48)
	end end
	assert(n == 5)
	local soup, seed = {}, 3
	for y = 1, h do soup[y] = {} for x = 1, w do seed = (seed * 16807) % 2147483647 soup[y][x] = seed % 3 == 0 and 1 or 0 end end
	for _ = 1, 30 do soup = step(soup, w, h) end
	local pop = 0
	for y = 1, h do for x = 1, w do pop = pop + soup[y][x] end end
	print(pop)
	return pop
end
