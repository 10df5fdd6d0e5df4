-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
-- memory-limit: 8192
function run()
	local src = ("local x = 1 "):rep(150)
	while true do loadstring(src) end
end
