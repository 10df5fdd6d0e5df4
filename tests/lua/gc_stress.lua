-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Garbage of every type under a collector that runs almost all the time.
function run()
	collectgarbage("setpause", 100)
	collectgarbage("setstepmul", 400)
	local keep, h = {}, 0
	for i = 1, 3000 do
		local t = { i, { i * 2 }, name = "n" .. i }
		local f = function(x) return x + t[1] end
		if i % 100 == 0 then keep[#keep + 1] = { t = t, f = f, s = ("s"):rep(i % 50) } end
		h = (h * 31 + f(i) + #t.name + t[2][1]) % 1000003
		if i % 500 == 0 then collectgarbage("collect") end
	end
	assert(#keep == 30)
	for k, v in ipairs(keep) do
		local i = k * 100
		assert(v.t[1] == i and v.t[2][1] == i * 2 and v.t.name == "n" .. i and v.f(1) == i + 1 and #v.s == i % 50)
	end
	for _ = 1, 30 do
		local co = coroutine.wrap(function() local x = {} coroutine.yield(x) end)
		co()
		collectgarbage("step", 10)
	end
	print(h)
	collectgarbage("collect")
	local before = collectgarbage("count")
	for _ = 1, 200 do local _ = { {}, {}, ("x"):rep(100) .. _ } end
	collectgarbage("collect")
	assert(collectgarbage("count") <= before + 16)
	return h
end
