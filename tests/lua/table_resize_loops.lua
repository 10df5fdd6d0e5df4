-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Tables that grow, shrink and change layout inside compiled loops.
function run()
	local sum = 0
	for round = 1, 6 do
		local t = {}
		for i = 1, 200 * round do
			t[i] = i
			if i % 3 == 0 then t["s" .. i % 50] = i end
			if i % 5 == 0 then t[i / 5 + 0.25] = i end
		end
		for _, v in pairs(t) do sum = sum + v end
		for i = #t, 1, -1 do t[i] = nil end
		assert(#t == 0)
	end
	print(sum)
	local matrix = {}
	for i = 1, 40 do
		local row = matrix[i] or {}
		for j = 1, 40 do row[j] = i * j end
		matrix[i] = row
	end
	local tr = 0
	for i = 1, 40 do tr = tr + matrix[i][i] end
	assert(tr == 22140)
	local sparse = {}
	for i = 1, 300 do sparse[i * i * 1000] = i end
	local hit = 0
	for i = 1, 300 do
		if sparse[i * 1000] then hit = hit + 1 end
	end
	assert(hit == 17)
	local down = {}
	for i = 300, 1, -1 do down[i] = 300 - i end
	assert(#down == 300 and down[1] == 299)
	return sum, tr
end
