-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Strings created by bindings are garbage-collected.
-- expect: ETIME
function run()
	local addr, n = util.buffer(8192), 0
	while true do
		n = (n + 1) % 1000000
		util.poke(addr, "i4", n)
		util.str_in(addr, 8192)
	end
end
