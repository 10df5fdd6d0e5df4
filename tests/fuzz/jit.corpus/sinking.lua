-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Allocations that are sunk and restored at exits; keys that are objects.
local point = {}
point.__index = point
point.__add = function(a, b) return setmetatable({ x = a.x + b.x, y = a.y + b.y }, point) end
local function walk(n, stop)
	local p, kept, seen = setmetatable({ x = 0, y = 0 }, point), {}, {}
	for i = 1, n do
		local step = setmetatable({ x = i % 5, y = -i % 3 }, point)
		p = p + step
		if i % stop == 0 then kept[#kept + 1] = p seen[p] = i seen[step] = p end
	end
	local sum = 0
	for i = 1, #kept do sum = sum + kept[i].x * seen[kept[i]] end
	return p.x, p.y, #kept, sum
end
function run()
	for stop = 1, 40, 3 do print(walk(200, stop)) end
	return 0
end
