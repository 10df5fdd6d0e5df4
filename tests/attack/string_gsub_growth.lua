-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS
function run() return #("x"):rep(1e5):gsub("x", ("y"):rep(1e4)) end
