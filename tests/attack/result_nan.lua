-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: result 1 of run is not an integer
function run() return 0 / 0 end
