-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME | error: .
function run() table.insert({}, -2 ^ 31 + 10, 1) end
