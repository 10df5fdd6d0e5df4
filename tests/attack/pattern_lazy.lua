-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Polynomial backtracking of a high degree.
-- expect: ETIME
function run()
	return ("a"):rep(300):match((".-"):rep(20) .. "b")
end
