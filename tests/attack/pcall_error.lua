-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	while true do pcall(error, "x") end
end
