-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Ranges whose length wraps.
-- expect: ok
local huge = tonumber("1e300") or 2 ^ 62
function run()
	for _, r in ipairs { { -2 ^ 31, 2 ^ 31 - 1 }, { 0, 2 ^ 31 - 1 }, { -2 ^ 31, -1 }, { 1, 2 ^ 32 }, { -2 ^ 53, 2 ^ 53 },
		{ 2 ^ 31 - 1, 2 ^ 31 }, { 1, huge }, { -huge, huge } } do
		local ok, n = pcall(function() return select("#", unpack({}, r[1], r[2])) end)
		assert(not ok or n < 70000, r[1])
	end
end
