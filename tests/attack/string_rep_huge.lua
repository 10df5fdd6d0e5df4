-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS | error: .
function run() return #("x"):rep(1e9) end
