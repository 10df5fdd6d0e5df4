-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	for _ in ("a"):rep(300):gmatch(("a*"):rep(20) .. "b") do end
end
