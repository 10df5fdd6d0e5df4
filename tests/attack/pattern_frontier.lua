-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
-- memory-limit: 8192
function run()
	local set = "%f[" .. ("b"):rep(2 ^ 16) .. "]"
	while true do ("a"):rep(2 ^ 16):find(set) end
end
