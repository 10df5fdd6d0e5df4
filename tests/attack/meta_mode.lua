-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Odd __mode values, changed while the table is in use.
-- expect: ok
function run()
	local t = setmetatable({}, { __mode = "kv" })
	for i = 1, 300 do
		t[{}], t[i] = i, {}
		getmetatable(t).__mode = ({ "k", "v", "kv", "", "xyz", 5, false })[i % 7 + 1]
		collectgarbage("step", 1)
	end
	collectgarbage("collect")
end
