-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Sudoku by constraint bit masks and backtracking.
local band, bor, bxor, lshift = bit.band, bit.bor, bit.bxor, bit.lshift

local function solve(grid)
	local row, col, box, nodes = {}, {}, {}, 0
	for i = 0, 8 do row[i], col[i], box[i] = 0, 0, 0 end
	local g = {}
	local function flip(i, d)
		local r, c = math.floor((i - 1) / 9), (i - 1) % 9
		local b, m = math.floor(r / 3) * 3 + math.floor(c / 3), lshift(1, d)
		row[r], col[c], box[b] = bxor(row[r], m), bxor(col[c], m), bxor(box[b], m)
	end
	for i = 1, 81 do
		g[i] = grid:byte(i) - 48
		if g[i] > 0 then flip(i, g[i]) end
	end
	local function search()
		local best, mask, few
		for i = 1, 81 do
			if g[i] == 0 then
				local r, c = math.floor((i - 1) / 9), (i - 1) % 9
				local used = bor(row[r], col[c], box[math.floor(r / 3) * 3 + math.floor(c / 3)])
				local n = 0
				for d = 1, 9 do if band(used, lshift(1, d)) == 0 then n = n + 1 end end
				if not few or n < few then best, mask, few = i, used, n end
				if n == 0 then return false end
			end
		end
		if not best then return true end
		nodes = nodes + 1
		for d = 1, 9 do
			if band(mask, lshift(1, d)) == 0 then
				g[best] = d
				flip(best, d)
				if search() then return true end
				flip(best, d)
				g[best] = 0
			end
		end
		return false
	end
	return search() and table.concat(g), nodes
end

function run()
	local s, nodes = solve("530070000600195000098000060800060003400803001700020006060000280000419005000080079")
	assert(s == "534678912672195348198342567859761423426853791713924856961537284287419635345286179")
	print(s, nodes)
	print(solve("000000010400000000020000000000050407008000300001090000300400200050100000000806000"):len())
	return nodes
end
