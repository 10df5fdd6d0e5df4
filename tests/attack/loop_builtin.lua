-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Nothing but a fast function in the loop.
-- expect: ETIME
function run()
	local band = bit.band
	while true do band(1, 2) end
end
