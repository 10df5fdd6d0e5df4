-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS
function run()
	local t, s = {}, ("x"):rep(1000)
	for i = 1, 10000 do t[i] = s end
	return #table.concat(t, s)
end
