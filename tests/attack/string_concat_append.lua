-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS | ETIME
function run()
	local s = ""
	while true do s = s .. "0123456789012345678901234567890123456789" end
end
