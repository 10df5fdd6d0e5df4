-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- next() on a table that never loses its only key.
-- expect: ETIME
function run()
	local t, k = { 1 }, nil
	while true do k = next(t, k) end
end
