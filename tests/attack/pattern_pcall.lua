-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	while true do pcall(string.find, ("a"):rep(300), ("a*"):rep(20) .. "b") end
end
