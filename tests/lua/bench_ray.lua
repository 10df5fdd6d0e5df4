-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A small ray tracer: spheres, shadows, reflection.
local sqrt = math.sqrt
local V = {}
V.__index = V
local function vec(x, y, z) return setmetatable({ x = x, y = y, z = z }, V) end
V.__add = function(a, b) return vec(a.x + b.x, a.y + b.y, a.z + b.z) end
V.__sub = function(a, b) return vec(a.x - b.x, a.y - b.y, a.z - b.z) end
V.__mul = function(a, s) return vec(a.x * s, a.y * s, a.z * s) end
function V.dot(a, b) return a.x * b.x + a.y * b.y + a.z * b.z end
function V.unit(a) return a * (1 / sqrt(a:dot(a))) end

local spheres = {
	{ c = vec(0, 0, 5), r = 1, shine = 0.4, col = 0.9 }, { c = vec(1.5, 0.5, 4), r = 0.6, shine = 0.2, col = 0.7 },
	{ c = vec(-1.4, -0.4, 4.2), r = 0.7, shine = 0.5, col = 0.8 }, { c = vec(0, -101.2, 5), r = 100, shine = 0, col = 0.5 },
}
local light = vec(3, 5, -2)

local function hit(o, d)
	local best, who
	for i = 1, #spheres do
		local s = spheres[i]
		local oc = o - s.c
		local b = oc:dot(d)
		local disc = b * b - oc:dot(oc) + s.r * s.r
		if disc > 0 then
			local t = -b - sqrt(disc)
			if t > 1e-4 and (not best or t < best) then best, who = t, s end
		end
	end
	return best, who
end
local function trace(o, d, depth)
	local t, s = hit(o, d)
	if not t then return 0.2 + 0.2 * d.y end
	local p = o + d * t
	local n = (p - s.c):unit()
	local l = (light - p):unit()
	local v = 0.1
	if not hit(p, l) then v = v + math.max(0, n:dot(l)) * s.col end
	if s.shine > 0 and depth < 3 then v = v + s.shine * trace(p, d - n * (2 * d:dot(n)), depth + 1) end
	return v
end

function run()
	local w, h, sum = 40, 20, 0
	for y = 1, h do
		local line = {}
		for x = 1, w do
			local v = trace(vec(0, 0, 0), vec((x - w / 2) / w * 1.6, (h / 2 - y) / h, 1.4):unit(), 0)
			sum = sum + v
			local i = math.max(1, math.min(10, math.floor(v * 9) + 1))
			line[x] = (" .:-=+*#%@"):sub(i, i)
		end
		print((table.concat(line):gsub("%s+$", "")))
	end
	print(string.format("%.14g", sum))
end
