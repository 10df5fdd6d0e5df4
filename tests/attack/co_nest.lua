-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A coroutine within a coroutine within a coroutine.
-- expect: error: stack overflow|overflow | ENOBUFS
-- confined: error: co_nest
-- memory-limit: 8192
local function f() return coroutine.wrap(f)() end
function run() return f() end
