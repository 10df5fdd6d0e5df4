-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Array and hash parts: growth, migration of keys, sparse and negative keys.
function run()
	local t = {}
	for i = 1, 1000 do t[i] = i * i end
	assert(#t == 1000 and t[1000] == 1e6)
	for i = 1000, 1, -2 do t[i] = nil end
	local n, sum = 0, 0
	for k, v in pairs(t) do n, sum = n + 1, sum + k + v end
	assert(n == 500)
	print(n, sum)
	local r = {}
	for i = 500, 1, -1 do r[i] = i end
	assert(#r == 500)
	local s = { 1, 2, 3, x = 4, [5] = 6, [-1] = 7, [0] = 8, [1.5] = 9, [2 ^ 40] = 10, [true] = 11 }
	n = 0
	for _, v in pairs(s) do n = n + v end
	assert(n == 61)
	s[4] = 44
	assert(#s == 5)
	assert(s[2 ^ 40] == 10 and s[1.5] == 9 and s[-1] == 7 and s[0] == 8)
	local z = {}
	z[-0] = "zero"
	assert(z[0] == "zero")
	z[2 ^ 53] = "big"
	assert(z[2 ^ 53] == "big" and z[9007199254740992] == "big")
	print(pcall(function() z[nil] = 1 end))
	print(pcall(function() z[0 / 0] = 1 end))
	assert(z[nil] == nil and z[0 / 0] == nil)
	local mixed = {}
	for i = 1, 300 do
		mixed[i] = i
		mixed["k" .. i] = -i
		mixed[i + 0.5] = i / 2
	end
	local total, count = 0, 0
	for _, v in pairs(mixed) do total, count = total + v, count + 1 end
	assert(count == 900 and total == 45150 / 2)
	return n, total
end
