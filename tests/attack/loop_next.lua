-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- next() fed with a table that keeps its only key.
-- expect: ETIME
function run()
	local t, k = { 1 }, nil
	while true do k = next(t, k) end
end
