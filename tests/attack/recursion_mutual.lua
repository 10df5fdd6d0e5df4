-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: stack overflow
-- memory-limit: 8192
local a, b
function a(n) return b(n + 1) + 1 end
function b(n) return a(n + 1) + 1 end
function run() return a(1) end
