-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: no function named run
local function run() end
