-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- error() and pcall() with values of every kind, and levels.
function run()
	for _, v in ipairs { 1, 1.5, "text", true, false } do
		local ok, e = pcall(error, v)
		assert(not ok and tostring(e) == tostring(v))
	end
	local t = { code = 7 }
	local ok, e = pcall(error, t)
	assert(not ok and e == t)
	print(select("#", pcall(error)), (pcall(error)))
	print(select(2, pcall(error, nil)))
	local co = coroutine.create(print)
	assert(select(2, pcall(error, co)) == co and select(2, pcall(error, print)) == print)
	print(pcall(function() error("level 0", 0) end))
	print(pcall(function() error("level 1", 1) end))
	local function thrower() error("level 2", 2) end
	print(pcall(function() thrower() end))
	print(pcall(function() error(setmetatable({}, { __tostring = function() return "obj" end })) end) == false)
	local function nest(n)
		local good, err = pcall(n == 0 and function() error("bottom", 0) end or nest, n - 1)
		assert(not good or err)
		if not good then error(err .. n, 0) end
	end
	print(pcall(nest, 5))
	assert(pcall(pcall, error, "x"))
	print(pcall(pcall, error, "x"))
	print(pcall(pcall))
	local n = 0
	for i = 1, 300 do
		local good, err = pcall(function(x) if x % 3 == 0 then error(x, 0) end return x end, i)
		n = n + (good and err or -err)
	end
	print(n)
	assert(n == 45150 - 2 * 15150)
	return n
end
