-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: too (long|many)|overflow | ENOBUFS
-- memory-limit: 8192
function run() return select("#", ("x"):rep(1e6):byte(1, -1)) end
