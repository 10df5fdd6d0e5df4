-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME | ENOBUFS
function run()
	local t = {}
	while true do table.insert(t, 1, 1) end
end
