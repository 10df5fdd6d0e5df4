-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Hot loops: numeric in both directions and with fractions, while, repeat, goto, for-in.
function run()
	local s = 0
	for i = 1, 300 do s = s + i end
	for i = 300, 1, -1 do s = s + i end
	for i = 1, 300, 7 do s = s + i end
	for i = 0, 1, 0.0078125 do s = s + i end
	for i = 1, 0, -0.0078125 do s = s + i end
	for i = 5, 4 do s = s / 0 end
	for i = 1, 2, math.huge do s = s + i end
	for i = 1.5, 300.5 do s = s + i end
	for i = -300, -1 do s = s - i end
	local w = 0
	while w < 300 do w = w + 1 s = s + w end
	repeat local q = w w = w - 1 s = s + q until q <= 1
	for i = 1, 100 do
		if i == 90 then break end
		s = s + i
	end
	local t = {}
	for i = 1, 300 do t[i] = i end
	for i, v in ipairs(t) do s = s + i * v % 3 end
	for k, v in pairs(t) do s = s + k % 2 * v end
	for k, v in next, t do s = s + v - k end
	local function iter(n, i) if i < n then return i + 1, i * 2 end end
	for i, d in iter, 300, 0 do s = s + d - i end
	local cnt = 0
	for _ in ("x"):rep(200):gmatch("x") do cnt = cnt + 1 end
	assert(cnt == 200)
	local mixed = {}
	for i = 1, 150 do mixed[i] = i mixed["k" .. i] = i end
	local ms = 0
	for _, v in pairs(mixed) do ms = ms + v end
	assert(ms == 150 * 151)
	print(string.format("%.10g", s))
	for step = -3, 3 do
		if step ~= 0 then
			local n = 0
			for i = step > 0 and -200 or 200, step > 0 and 200 or -200, step do n = n + 1 end
			assert(n == math.floor(400 / math.abs(step)) + 1)
		end
	end
	return cnt, ms
end
