-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Frames that grow as they go down.
-- expect: error: stack overflow | ENOBUFS
-- memory-limit: 8192
local function f(...) return f(1, ...) + 1 end
function run() return f() end
