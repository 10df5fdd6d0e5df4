-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
function run()
	local co = coroutine.wrap(function() return load(function() coroutine.yield(1) end) end)
	pcall(co)
	pcall(co)
end
