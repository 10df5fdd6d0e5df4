-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- More results than run() may return.
-- expect: ok | error: .
function run() return unpack({}, 1, 5000) end
