-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Strings: interned again after they died, buffers that grow and shrink.
function run()
	local h = 0
	for round = 1, 10 do
		local t = {}
		for i = 1, 300 do t[i] = "round " .. round .. " item " .. i end
		for i = 1, 300 do h = (h * 33 + #t[i] + t[i]:byte(-1)) % 1000003 end
		t = nil
		collectgarbage("collect")
	end
	print(h)
	local a = ("abc"):rep(1000)
	collectgarbage("collect")
	assert(a == ("abc"):rep(1000))
	local big = 0
	for i = 1, 12 do
		local s = ("x"):rep(2 ^ i * 10)
		big = big + #(s .. s)
		collectgarbage("step", 100)
	end
	assert(big == 2 * 10 * (2 ^ 13 - 2))
	local set = {}
	for i = 1, 500 do set["k" .. i % 50] = (set["k" .. i % 50] or 0) + 1 end
	collectgarbage("collect")
	for i = 0, 49 do assert(set["k" .. i] == 10) end
	return h, big
end
