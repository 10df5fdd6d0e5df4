-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
local function f() return f() end
function run() return f() end
