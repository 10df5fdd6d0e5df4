-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Thousands of strings as keys: interning, lookup, collisions by length.
function run()
	local t, n = {}, 0
	for i = 1, 1500 do
		local k = string.format("%x-%s", i * 2654435761 % 2 ^ 32, ("p"):rep(i % 7))
		if t[k] == nil then n = n + 1 end
		t[k] = i
	end
	local hit = 0
	for i = 1, 1500 do
		local k = string.format("%x-%s", i * 2654435761 % 2 ^ 32, ("p"):rep(i % 7))
		if t[k] == i then hit = hit + 1 end
	end
	assert(hit == n)
	-- Equal but for a few bytes in the middle, where sparse hashes do not look.
	local same = {}
	for i = 1, 300 do
		local k = ("a"):rep(40) .. string.format("%03d", i) .. ("b"):rep(40)
		same[k] = i
	end
	local sum = 0
	for i = 1, 300 do
		sum = sum + same[("a"):rep(40) .. string.format("%03d", i) .. ("b"):rep(40)]
	end
	assert(sum == 45150)
	for k in pairs(t) do t[k] = nil end
	assert(next(t) == nil)
	return n, sum
end
