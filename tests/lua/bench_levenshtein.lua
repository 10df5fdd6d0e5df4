-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Edit distance, longest common subsequence, knapsack: dynamic programming.
local function lev(a, b)
	local prev = {}
	for j = 0, #b do prev[j] = j end
	for i = 1, #a do
		local cur = { [0] = i }
		for j = 1, #b do
			local c = a:byte(i) == b:byte(j) and 0 or 1
			cur[j] = math.min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + c)
		end
		prev = cur
	end
	return prev[#b]
end
local function lcs(a, b)
	local t = {}
	for i = 0, #a do t[i] = {} for j = 0, #b do t[i][j] = 0 end end
	for i = 1, #a do for j = 1, #b do
		t[i][j] = a:byte(i) == b:byte(j) and t[i - 1][j - 1] + 1 or math.max(t[i - 1][j], t[i][j - 1])
	end end
	local i, j, out = #a, #b, {}
	while i > 0 and j > 0 do
		if a:byte(i) == b:byte(j) then out[#out + 1] = a:sub(i, i) i, j = i - 1, j - 1
		elseif t[i - 1][j] >= t[i][j - 1] then i = i - 1 else j = j - 1 end
	end
	return table.concat(out):reverse()
end

function run()
	assert(lev("kitten", "sitting") == 3 and lev("", "abc") == 3 and lev("same", "same") == 0)
	assert(lcs("AGCAT", "GAC"):len() == 2)
	local a, b = ("the quick brown fox "):rep(3), ("a quack frown box "):rep(3)
	print(lev(a, b), lcs(a, b))
	local best = { [0] = 0 }
	for c = 1, 200 do best[c] = 0 end
	for i = 1, 25 do
		local w, v = (i * 37) % 23 + 3, (i * 53) % 41 + 1
		for c = 200, w, -1 do best[c] = math.max(best[c], best[c - w] + v) end
	end
	print(best[200])
	return lev(a, b), best[200]
end
