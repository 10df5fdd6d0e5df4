-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME | ENOBUFS | error: .
-- memory-limit: 8192
function run()
	local f, t = ("%99.99f"):rep(200), {}
	for i = 1, 200 do t[i] = 1e308 / i end
	while true do string.format(f, unpack(t)) end
end
