-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Coroutines that resume each other get an error, not a hang.
-- expect: ETIME
function run()
	local a, b
	a = coroutine.create(function() while true do coroutine.resume(b) end end)
	b = coroutine.create(function() while true do coroutine.resume(a) end end)
	coroutine.resume(a)
end
