-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- More distinct hot loops than fit a small trace cache: flushed and compiled anew.
function run()
	local total = 0
	for k = 1, 120 do
		local src = string.format([[
			local s = %d
			for i = 1, 80 do
				if i %% %d == 0 then s = s + i * %d else s = s - %d end
			end
			return s]], k, k % 5 + 2, k, k % 3)
		local f = loadstring(src)
		local a = f()
		local want = k
		for i = 1, 80 do
			want = want + (i % (k % 5 + 2) == 0 and i * k or -(k % 3))
		end
		assert(a == want and f() == want)
		total = total + a
	end
	print(total)
	return total
end
