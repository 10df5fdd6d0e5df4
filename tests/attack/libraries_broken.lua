-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The script removes library functions that the engine might use.
-- expect: error: attempt to call
function run()
	local keys, env = {}, _G
	for k in pairs(env) do keys[#keys + 1] = k end
	for _, lib in ipairs { string, table, math, bit, coroutine, jit or {}, util, syscall, errno, const } do
		local names = {}
		for k in pairs(lib) do names[#names + 1] = k end
		for _, k in ipairs(names) do lib[k] = nil end
	end
	for _, k in ipairs(keys) do env[k] = nil end
	run()
end
