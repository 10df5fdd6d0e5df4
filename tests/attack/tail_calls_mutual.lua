-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
local a, b
function a(n) return b(n + 1) end
function b(n) return a(n - 1) end
function run() return a(1) end
