-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A long character class, tried at each position.
-- expect: ETIME
-- memory-limit: 8192
function run()
	local set = "[" .. ("b"):rep(2 ^ 17) .. "]"
	while true do ("a"):rep(2 ^ 17):find(set) end
end
