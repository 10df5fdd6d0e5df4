-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Memory runs out inside a fast function while L->top is stale from collectgarbage(): a value
-- stored there would overwrite the link of churn()'s frame.
-- expect: ENOBUFS
local sub, s = string.sub, {}
for i = 1, 2000 do s[i] = i .. "," end
s = table.concat(s)
local kept
local function churn()
	for len = 100, 2000 do
		for i = 1, #s - len do kept = sub(s, i, i + len) end
	end
end
function run()
	collectgarbage("stop")
	local a, b, c
	churn()
end
