-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok | ENOBUFS
function run()
	for _, p in ipairs { "setpause", "setstepmul", "step" } do
		for _, v in ipairs { 0, 1, -1, 1000, 2 ^ 31 - 1, -2 ^ 31, 2 ^ 53, tonumber("nan") or -1, tonumber("1e300") or 2 ^ 62 } do
			pcall(collectgarbage, p, v)
			local t = {}
			for i = 1, 100 do t[i] = { i } end
		end
	end
	collectgarbage("restart")
	collectgarbage("collect")
end
