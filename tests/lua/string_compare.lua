-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Order of strings: prefixes, embedded zeros, high bytes; compiled as well.
function run()
	local v = { "", "\0", "\0\0", "\1", "A", "AB", "Aa", "a", "a\0", "a\0b", "aa", "ab", "b", "\127", "\128",
		"\255", "\255\255" }
	for i = 1, #v do
		for j = 1, #v do
			assert((v[i] < v[j]) == (i < j))
			assert((v[i] <= v[j]) == (i <= j))
			assert((v[i] > v[j]) == (i > j))
			assert((v[i] == v[j]) == (i == j))
		end
	end
	local long = ("x"):rep(1000)
	assert(long .. "a" < long .. "b" and long < long .. "\0")
	local lt = 0
	for i = 0, 499 do
		local a, b = string.char(i % 256), string.char((i * 7) % 256)
		if a < b then lt = lt + 1 end
		if a <= b then lt = lt + 1 end
		assert((a < b) == (i % 256 < (i * 7) % 256))
	end
	print(lt)
	return lt
end
