-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The time limit applies at registration, too.
-- expect: ETIME
while true do end
function run() end
