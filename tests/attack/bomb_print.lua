-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Output that is not read yet.
-- expect: ETIME
function run()
	while true do print(("x"):rep(1000), 1, 2, 3) end
end
