-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: top level
error("top level")
function run() end
