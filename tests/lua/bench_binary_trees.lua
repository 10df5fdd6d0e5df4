-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Binary trees: allocate, walk, drop; a long-lived tree next to short-lived ones.
local function make(d) if d == 0 then return {} end return { make(d - 1), make(d - 1) } end
local function check(t) if not t[1] then return 1 end return 1 + check(t[1]) + check(t[2]) end

function run()
	local long = make(9)
	local total = 0
	for d = 4, 8, 2 do
		local n = 2 ^ (10 - d)
		local c = 0
		for _ = 1, n do c = c + check(make(d)) end
		print(n, d, c)
		assert(c == n * (2 ^ (d + 1) - 1))
		total = total + c
	end
	assert(check(long) == 1023)
	return total
end
