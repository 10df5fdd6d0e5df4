-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
-- args: -9223372036854775808
function run(a) return a end
