-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- gsub() within the callback of gsub(): recursion through C.
-- expect: error: overflow | ENOBUFS
-- memory-limit: 8192
local function f() return (("x"):gsub("x", f)) end
function run() return f() end
