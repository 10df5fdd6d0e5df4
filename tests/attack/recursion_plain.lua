-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: stack overflow
-- memory-limit: 8192
local function f() return 1 + f() end
function run() return f() end
