-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Calls in hot loops to functions that traces can only be stitched around.
function run()
	local n, s = 0, 0
	for i = 1, 200 do
		local f = loadstring("return " .. i)
		s = s + f()
	end
	assert(s == 20100)
	for i = 1, 200 do
		local t = { 5, 3, i % 7, 1 }
		table.sort(t)
		s = s + t[1] * 10 + t[4]
	end
	for i = 1, 200 do
		local w = ("a,b," .. i):gsub("%w", "x")
		n = n + #w
	end
	for i = 1, 200 do n = n + #tostring({}):match("^table") end
	for i = 1, 200 do
		local k, v = next({ i })
		n = n + k + v
		local co = coroutine.wrap(function(a) local b = coroutine.yield(a) return a + b end)
		n = n + co(i) + co(1)
	end
	for i = 1, 200 do
		local ok, e = pcall(error, i, 0)
		n = n + (ok and 0 or e)
		n = n + select("#", unpack({ 1, 2, i }))
		n = n + #string.format("%q", "x" .. i) + #("%d"):format(i)
	end
	for i = 1, 100 do
		for _, word in ipairs { "x", "yy" } do n = n + #word:rep(i % 3) end
		n = n + (("k=v"):find("=", 1, true)) + #(("%s"):rep(2):format(i, i))
	end
	local env = {}
	for i = 1, 100 do setfenv(function() end, env) rawset(env, i, i) n = n + rawget(env, i) end
	print(n, s)
	return n, s
end
