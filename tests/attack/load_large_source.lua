-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A large source compiled at once: the time limit applies to the parser.
-- expect: ETIME | ENOBUFS
-- memory-limit: 16384
-- time-limit: 5
function run()
	local src = ("x = x + 1; "):rep(40000)
	while true do
		local f = loadstring(src)
	end
end
