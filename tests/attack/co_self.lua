-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	local co
	co = coroutine.wrap(function() while true do pcall(co) end end)
	co()
end
