-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Walks everything reachable from a script: nothing leads outside.
-- expect: ok
function run()
	local forbidden = {}
	for _, name in ipairs { "io", "os", "package", "debug", "ffi", "newproxy", "require", "module", "dofile", "loadfile",
		"loadlib", "seeall", "popen", "getregistry", "getinfo", "sethook", "gethook", "getupvalue", "setupvalue",
		"getlocal", "setlocal", "upvalueid", "upvaluejoin", "funcbc", "funck", "traceir", "tracemc", "profile",
		"cdata", "exit", "execute" } do
		forbidden[name] = true
	end
	local seen, todo, count = {}, { _G, getfenv(0), getmetatable(""), coroutine.running() }, 0
	while #todo > 0 do
		local o = table.remove(todo)
		if (type(o) == "table" or type(o) == "function") and not seen[o] then
			seen[o] = true
			count = count + 1
			todo[#todo + 1] = getmetatable(o)
			if type(o) == "function" then
				todo[#todo + 1] = getfenv(o)
			elseif o ~= forbidden then
				for k, v in pairs(o) do
					assert(not (type(k) == "string" and forbidden[k]), k)
					todo[#todo + 1] = k
					todo[#todo + 1] = v
				end
			end
		end
	end
	assert(count > 80)
	for level = 0, 20 do
		local ok, env = pcall(getfenv, level)
		assert(not ok or env == _G)
	end
end
