-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Overflow caught, over and over.
-- expect: ETIME
-- memory-limit: 8192
local function f() return 1 + f() end
function run()
	while true do pcall(f) end
end
