-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Huffman coding: code lengths, encoding, decoding.
function run()
	local text = ("this is an example of a huffman tree with some more text to weigh "):rep(4)
	local freq, nodes, codes = {}, {}, {}
	for c in text:gmatch(".") do freq[c] = (freq[c] or 0) + 1 end
	for c, n in pairs(freq) do nodes[#nodes + 1] = { c = c, n = n, key = c } end
	local function less(a, b) if a.n ~= b.n then return a.n > b.n end return a.key > b.key end
	while #nodes > 1 do
		table.sort(nodes, less)
		local a, b = table.remove(nodes), table.remove(nodes)
		nodes[#nodes + 1] = { l = a, r = b, n = a.n + b.n, key = math.min(a.key:byte(), b.key:byte()) .. "*" }
	end
	local function assign(t, code)
		if t.c then codes[t.c] = code return end
		assign(t.l, code .. "0")
		assign(t.r, code .. "1")
	end
	assign(nodes[1], "")
	local bits = text:gsub(".", codes)
	local out, t = {}, nodes[1]
	for i = 1, #bits do
		t = bits:byte(i) == 48 and t.l or t.r
		if t.c then out[#out + 1] = t.c t = nodes[1] end
	end
	assert(table.concat(out) == text)
	local kraft = 0
	for _, code in pairs(codes) do kraft = kraft + 2 ^ -#code end
	assert(kraft == 1)
	print(#text, #bits)
	assert(#bits < #text * 4.2)
	return #bits
end
