-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: invalid (format|option)
function run() return #string.format("%1000000000d", 1) end
