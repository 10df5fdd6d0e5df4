-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A pcall at each level; each level retries when the level below fails.
-- expect: ETIME | ENOBUFS | error: stack overflow
-- memory-limit: 8192
local function f()
	pcall(f)
	pcall(f)
end
function run() f() end
