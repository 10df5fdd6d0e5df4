-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Functions called while traces are recorded.
-- expect: ok | ETIME
function run()
	if not (jit and jit.attach) then return end
	for _, event in ipairs { "bc", "trace", "record", "texit", "errfin" } do
		pcall(jit.attach, function() while true do end end, event)
		pcall(jit.attach, function() error("x") end, event)
		pcall(jit.attach, function() coroutine.yield() end, event)
		pcall(jit.attach, function() jit.flush() end, event)
	end
	for k = 1, 50 do
		local f = loadstring("local s = 0 for i = 1, 200 do s = s + i end return s")
		assert(f() == 20100)
	end
end
