-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
-- args: 9007199254740993
function run(a) return a end
