-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Tables created by bindings are garbage-collected, in compiled loops as well.
-- expect: ETIME
function run()
	local addr = util.buffer(4096)
	while true do util.copyin(addr, 512) end
end
