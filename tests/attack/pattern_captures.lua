-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	return ("a"):rep(200):match(("(a-)"):rep(16) .. "(b)")
end
