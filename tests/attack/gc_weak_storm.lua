-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
-- memory-limit: 16384
function run()
	local t = {}
	for i = 1, 5000 do t[i] = setmetatable({ {}, [{}] = {} }, { __mode = "kv" }) end
	while true do
		collectgarbage("collect")
		for i = 1, 5000 do t[i][1] = {} end
	end
end
