-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- setfenv and getfenv: sandboxes, levels, and their effect on globals.
function run()
	local env = setmetatable({ x = 5 }, { __index = _G })
	local f = setfenv(loadstring("x = x + 1; return x, y"), env)
	assert(f() == 6 and env.x == 6 and rawget(_G, "x") == nil)
	assert(getfenv(f) == env and getfenv(print) == _G and getfenv(0) == _G)
	local function g() return secret end
	assert(g() == nil)
	setfenv(g, { secret = 7 })
	assert(g() == 7 and secret == nil)
	local function inner()
		setfenv(1, { assert = assert, mark = 1 })
		assert(mark == 1)
		mark = 2
	end
	inner()
	assert(mark == nil)
	local h = loadstring("return function() return marker end")
	setfenv(h, { marker = "inherited" })
	assert(h()() == "inherited")
	print(pcall(setfenv, print, {}))
	print(pcall(setfenv, 50, {}))
	print(pcall(getfenv, -1))
	print(pcall(setfenv, g, 5))
	local co = coroutine.create(function() return getfenv(0) == _G end)
	assert(select(2, coroutine.resume(co)) == true)
	local strict = setmetatable({}, {
		__index = function(_, k) error("undefined " .. k, 2) end,
		__newindex = function(_, k) error("assignment to " .. k, 2) end,
	})
	print(pcall(setfenv(loadstring("return foo", "=strict"), strict)))
	print(pcall(setfenv(loadstring("foo = 1", "=strict"), strict)))
	local count = setfenv(loadstring("for i = 1, 300 do n = n + i end return n"), { n = 0 })
	assert(count() == 45150)
	return count()
end
