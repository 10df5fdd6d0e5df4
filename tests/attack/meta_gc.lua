-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Scripts have no finalisers: the collector runs no script code.
-- expect: ok
function run()
	local ran = false
	for _ = 1, 100 do
		setmetatable({}, { __gc = function() ran = true while true do end end })
	end
	collectgarbage("collect")
	collectgarbage("collect")
	assert(not ran)
	assert(newproxy == nil)
end
