-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The nest, and a pcall at each level that tries again.
-- expect: ETIME | ENOBUFS | error: overflow
-- memory-limit: 8192
local function f()
	while true do coroutine.resume(coroutine.create(f)) end
end
function run() f() end
