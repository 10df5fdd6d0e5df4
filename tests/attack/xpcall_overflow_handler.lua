-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The handler of a stack overflow overflows the stack.
-- expect: ETIME | ENOBUFS | error: stack overflow
-- memory-limit: 8192
function run()
	local function f() return 1 + f() end
	while true do xpcall(f, f) end
end
