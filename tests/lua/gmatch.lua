-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- gmatch: words, pairs, positions, empty matches, early exit, nesting.
function run()
	local w = {}
	for word in ("the quick brown fox"):gmatch("%a+") do w[#w + 1] = word end
	assert(table.concat(w, ",") == "the,quick,brown,fox")
	local t = {}
	for k, v in ("a=1, b=2, c=3"):gmatch("(%w+)=(%w+)") do t[k] = tonumber(v) end
	assert(t.a == 1 and t.b == 2 and t.c == 3)
	local p = {}
	for i in ("hello"):gmatch("()l") do p[#p + 1] = i end
	assert(table.concat(p, ",") == "3,4")
	local n = 0
	for _ in ("abc"):gmatch("") do n = n + 1 end
	assert(n == 4)
	n = 0
	for a in ("1 2 3"):gmatch("%d") do
		for b in ("4 5 6"):gmatch("%d") do
			n = n + a * b
			if b == "5" then break end
		end
	end
	assert(n == 54)
	local it = ("x y"):gmatch("%a")
	assert(it() == "x" and it() == "y" and it() == nil)
	for m in ("aXbX"):gmatch("(.-)X") do print(m) end
	for m in ("^a^a"):gmatch("^a") do print("anchored", m) end
	local text = ("lorem ipsum dolor sit amet "):rep(60)
	local freq, words = {}, 0
	for word in text:gmatch("%w+") do
		freq[word] = (freq[word] or 0) + 1
		words = words + 1
	end
	assert(words == 300 and freq.dolor == 60)
	assert(not pcall(string.gmatch, nil, "x"))
	return words
end
