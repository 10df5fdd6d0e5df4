-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Errors inside coroutines, across resume and wrap, and dead coroutines.
function run()
	local co = coroutine.create(function() error("inside") end)
	print(coroutine.resume(co))
	assert(coroutine.status(co) == "dead")
	print(coroutine.resume(co))
	co = coroutine.create(function() error({ code = 5 }) end)
	local ok, e = coroutine.resume(co)
	assert(not ok and e.code == 5)
	print(pcall(coroutine.wrap(function() error("wrapped", 0) end)))
	print(pcall(coroutine.wrap(function() local x = nil + 1 end)))
	local w = coroutine.wrap(function() return 1 end)
	w()
	print(pcall(w))
	co = coroutine.create(function()
		local good, err = pcall(function()
			coroutine.yield("step")
			error("late", 0)
		end)
		coroutine.yield(tostring(good) .. err)
		error("final", 0)
	end)
	print(coroutine.resume(co))
	print(coroutine.resume(co))
	print(coroutine.resume(co))
	print(coroutine.resume(co))
	local n = 0
	for i = 1, 200 do
		local c = coroutine.create(function(x)
			local y = coroutine.yield(x)
			if y % 3 == 0 then error(y, 0) end
			return y
		end)
		coroutine.resume(c, i)
		local r, v = coroutine.resume(c, i)
		n = n + (r and v or -v)
	end
	print(n)
	print(coroutine.resume(coroutine.create(function()
		return coroutine.resume(coroutine.create(function()
			return pcall(coroutine.wrap(function() error("three deep", 0) end))
		end))
	end)))
	print(coroutine.resume(coroutine.create(function() local function f() return f() + 1 end return f() end)) == false)
	return n
end
