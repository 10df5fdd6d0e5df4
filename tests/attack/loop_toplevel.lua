-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The limit holds at registration as well.
-- expect: ETIME
while true do end
function run() end
