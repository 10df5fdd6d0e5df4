-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: attempt to yield
function run() coroutine.yield(1) end
