-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Distinct strings without end, all kept.
-- expect: ENOBUFS
function run()
	local t, n = {}, 0
	while true do
		n = n + 1
		t[n] = "string number " .. n
	end
end
