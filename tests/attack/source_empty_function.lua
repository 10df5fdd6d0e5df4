-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
function run() end
