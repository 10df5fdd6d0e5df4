-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: too many results|overflow | ENOBUFS
function run() return select("#", unpack({}, 1, 1e7)) end
