-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS
function run()
	local s = "x"
	while true do s = s:rep(10) end
end
