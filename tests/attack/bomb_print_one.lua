-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok | ENOBUFS
-- memory-limit: 8192
function run() print(("x"):rep(2 ^ 20)) end
