-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- create, resume, yield, status, running, wrap and values across them.
function run()
	local co = coroutine.create(function(a, b)
		assert(a == 1 and b == 2)
		local c = coroutine.yield(a + b)
		local d, e = coroutine.yield(c * 2, c * 3)
		return d + e, "end"
	end)
	assert(coroutine.status(co) == "suspended")
	print(coroutine.resume(co, 1, 2))
	print(coroutine.resume(co, 10))
	print(coroutine.resume(co, 5, 6))
	assert(coroutine.status(co) == "dead")
	print(coroutine.resume(co))
	print(select("#", coroutine.yield and coroutine.resume(coroutine.create(function() return nil, nil end))))
	local inner
	local outer = coroutine.create(function()
		inner = coroutine.create(function()
			return coroutine.status(outer_ref), coroutine.status(inner)
		end)
		return coroutine.resume(inner)
	end)
	outer_ref = outer
	print(coroutine.resume(outer))
	local w = coroutine.wrap(function(...)
		local n = select("#", ...)
		while true do n = n + select("#", coroutine.yield(n)) end
	end)
	assert(w(nil, nil) == 2 and w(1) == 3 and w() == 3)
	print(pcall(coroutine.yield, 1))
	print(pcall(coroutine.create, 1))
	print(pcall(coroutine.resume, 1))
	print(pcall(coroutine.status, {}))
	print(coroutine.isyieldable and coroutine.isyieldable())
	local self
	self = coroutine.create(function() return coroutine.resume(self) end)
	print(coroutine.resume(self))
	self = coroutine.wrap(function() return self() end)
	print(pcall(self))
	return 1
end
