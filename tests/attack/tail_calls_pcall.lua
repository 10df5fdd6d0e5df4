-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME | ENOBUFS | error: stack overflow
local function f() return pcall(f) end
function run()
	while true do f() end
end
