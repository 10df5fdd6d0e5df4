-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A comparator that makes quick sort quadratic (McIlroy's).
-- expect: ETIME
-- memory-limit: 8192
function run()
	local n = 20000
	local val, idx, solid, cand = {}, {}, 0, 0
	for i = 1, n do idx[i], val[i] = i, n end
	table.sort(idx, function(x, y)
		if val[x] == n and val[y] == n then
			if x == cand then val[x] = solid else val[y] = solid end
			solid = solid + 1
		end
		if val[x] == n then cand = x elseif val[y] == n then cand = y end
		return val[x] < val[y]
	end)
	while true do end
end
