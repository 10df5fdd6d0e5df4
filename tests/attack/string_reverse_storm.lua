-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
-- memory-limit: 8192
function run()
	local s = ("x"):rep(2 ^ 20)
	while true do
		local _ = s:reverse():upper():lower()
		collectgarbage("collect")
	end
end
