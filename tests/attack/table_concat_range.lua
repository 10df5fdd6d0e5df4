-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: invalid value
function run() return #table.concat({}, "", 1, 2 ^ 31 - 1) end
