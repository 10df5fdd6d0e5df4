-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: bad argument
function run() return #string.format(("%s"):rep(10000), 1) end
