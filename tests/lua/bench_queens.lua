-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- N queens, recursively and with bit sets.
local function queens(n)
	local cols, d1, d2, count, first = {}, {}, {}, 0, nil
	local board = {}
	local function place(r)
		if r > n then
			count = count + 1
			first = first or table.concat(board, " ")
			return
		end
		for c = 1, n do
			if not (cols[c] or d1[r + c] or d2[r - c]) then
				cols[c], d1[r + c], d2[r - c], board[r] = true, true, true, c
				place(r + 1)
				cols[c], d1[r + c], d2[r - c] = nil, nil, nil
			end
		end
	end
	place(1)
	return count, first
end
local band, bor, bnot, lshift, rshift = bit.band, bit.bor, bit.bnot, bit.lshift, bit.rshift
local function bits(all, cols, l, r)
	if cols == all then return 1 end
	local n, free = 0, band(all, bnot(bor(cols, l, r)))
	while free ~= 0 do
		local p = band(free, -free)
		free = bit.bxor(free, p)
		n = n + bits(all, bor(cols, p), lshift(bor(l, p), 1), rshift(bor(r, p), 1))
	end
	return n
end

function run()
	local want = { 1, 0, 0, 2, 10, 4, 40, 92 }
	for n = 1, 7 do
		local c, first = queens(n)
		assert(c == want[n])
		print(n, c, first)
	end
	for n = 1, 8 do assert(bits(2 ^ n - 1, 0, 0, 0) == want[n]) end
	return (queens(6))
end
