-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: result 1 of run is a table
function run() return {} end
