-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Old objects that are made to point at new ones while a collection is under way.
-- expect: ok
-- memory-limit: 8192
function run()
	local old = {}
	for i = 1, 500 do old[i] = setmetatable({}, {}) end
	for round = 1, 40 do
		for i = 1, 500 do
			old[i].x = { round }
			old[i].f = function() return old[i], round end
			getmetatable(old[i]).__index = { v = { i } }
			if i % 10 == 0 then collectgarbage("step", 1) end
		end
	end
	for i = 1, 500 do
		local o, r = old[i].f()
		assert(o == old[i] and r == 40 and old[i].x[1] == 40 and old[i].v[1] == i)
	end
end
