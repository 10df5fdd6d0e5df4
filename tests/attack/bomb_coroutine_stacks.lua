-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS
function run()
	local function deep(n) if n == 0 then coroutine.yield() end return 1 + deep(n - 1) end
	local t = {}
	for i = 1, math.huge do
		t[i] = coroutine.create(deep)
		coroutine.resume(t[i], 5000)
	end
end
