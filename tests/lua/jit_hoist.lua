-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Loop-invariant loads and stores that must not be moved past what they depend on.
function run()
	local cfg, s = { scale = 2, off = 0 }, 0
	for i = 1, 300 do
		s = s + i * cfg.scale + cfg.off
		if i == 100 then cfg.scale = 3 end
		if i == 200 then cfg = { scale = 1, off = 1 } end
	end
	assert(s == 2 * 5050 + 3 * 15050 + 25050 + 100)
	local a, b = { 0, 0 }, nil
	b = a
	for i = 1, 300 do
		a[1] = a[1] + 1
		b[2] = b[1]
		b[1] = b[1] + a[2] - a[2]
	end
	assert(a[1] == 300 and a[2] == 300)
	local n = 10
	local function touch() n = n - 1 end
	local steps = 0
	while n > -300 do touch() steps = steps + 1 end
	assert(steps == 310)
	local list, i = { 1 }, 1
	while i <= #list and #list < 300 do
		list[#list + 1] = list[i] + 1
		i = i + 1
	end
	assert(#list == 300 and list[300] == 300)
	local flag, c = false, 0
	local obj = setmetatable({}, { __index = function() flag = true return 1 end })
	for k = 1, 200 do
		if k == 150 then c = c + obj.z end
		if flag then c = c + 1 end
	end
	assert(c == 52)
	local p = { 1, 2, 3 }
	local sum = 0
	for k = 1, 300 do
		local x = p[1]
		p[1], p[2], p[3] = p[2], p[3], p[1]
		sum = sum + x * k
	end
	print(sum)
	return s, sum
end
