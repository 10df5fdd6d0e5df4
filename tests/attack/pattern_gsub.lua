-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	return ("a"):rep(300):gsub(("a*"):rep(20) .. "b", "")
end
