-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A loop of fast functions only.
-- expect: ETIME
function run()
	local band = bit.band
	while true do band(1, 2) end
end
