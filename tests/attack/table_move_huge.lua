-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME | ENOBUFS | error: .
function run()
	table.move({}, 1, 2 ^ 31 - 2, 1)
	while true do table.move({}, 1, 2 ^ 31 - 2, 1) end
end
