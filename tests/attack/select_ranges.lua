-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
function run()
	for _, n in ipairs { 0, -1, -2 ^ 31, 2 ^ 31, 2 ^ 32, -2 ^ 53, 2 ^ 53, tonumber("1e300") or 2 ^ 62, tonumber("-1e300") or -2 ^ 62,
		tonumber("nan") or 0, "#x", "", {} } do
		pcall(select, n)
		pcall(select, n, 1, 2, 3)
	end
	assert(select("#") == 0 and select(-1, 1, 2) == 2)
end
