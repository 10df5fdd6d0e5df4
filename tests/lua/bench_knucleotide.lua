-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- k-nucleotide and reverse complement over a generated sequence.
function run()
	local seq, seed = {}, 42
	for i = 1, 3000 do
		seed = (seed * 3877 + 29573) % 139968
		local r = seed / 139968
		seq[i] = r < 0.3 and "a" or r < 0.5 and "c" or r < 0.7 and "g" or "t"
	end
	seq = table.concat(seq)
	for k = 1, 2 do
		local count, keys = {}, {}
		for i = 1, #seq - k + 1 do
			local s = seq:sub(i, i + k - 1)
			count[s] = (count[s] or 0) + 1
		end
		local total = 0
		for s, n in pairs(count) do keys[#keys + 1] = s total = total + n end
		assert(total == 3001 - k)
		table.sort(keys, function(a, b) if count[a] ~= count[b] then return count[a] > count[b] end return a < b end)
		for i = 1, math.min(6, #keys) do print(keys[i], string.format("%.3f", count[keys[i]] * 100 / total)) end
	end
	for _, frag in ipairs { "gg", "ggt", "ggta", "ttt" } do
		local n, at = 0, 1
		while true do
			at = seq:find(frag, at, true)
			if not at then break end
			n, at = n + 1, at + 1
		end
		print(frag, n)
	end
	local comp = { a = "t", c = "g", g = "c", t = "a" }
	local rc = seq:reverse():gsub(".", comp)
	assert(rc:reverse():gsub(".", comp) == seq)
	local h = 0
	for i = 1, #rc do h = (h * 31 + rc:byte(i)) % 1000003 end
	print(h)
	return h
end
