-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Two coroutines that hand control to each other for ever.
-- expect: ETIME
function run()
	local a = coroutine.wrap(function() while true do coroutine.yield() end end)
	local b = coroutine.wrap(function() while true do a() coroutine.yield() end end)
	while true do b() end
end
