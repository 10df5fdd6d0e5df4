-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Large copies, each of which ends before the next bytecode.
-- expect: ETIME
-- memory-limit: 8192
function run()
	while true do
		local _ = ("x"):rep(2 ^ 20)
		collectgarbage("collect")
	end
end
