-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: result 2 of run is not an integer
function run() return 1, 1.5 end
