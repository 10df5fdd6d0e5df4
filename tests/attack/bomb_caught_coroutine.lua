-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS
function run()
	while true do
		coroutine.resume(coroutine.create(function()
			local t = {}
			for i = 1, math.huge do t[i] = {} end
		end))
	end
end
