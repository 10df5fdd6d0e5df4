-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Replaces the environments of built-in functions and of the main thread.
-- expect: ok
function run()
	assert(not pcall(setfenv, string.rep, {}) and not pcall(setfenv, print, {}))
	for _, f in ipairs { pcall, error, load, string.gsub, coroutine.resume, util.peek, syscall.getpid } do
		assert(getfenv(f) == _G)
	end
	for _, lib in ipairs { table, string, math } do
		for _, f in pairs(lib) do
			if type(f) == "function" then pcall(setfenv, f, {}) end
		end
	end
	setfenv(0, { x = 1 })
	assert(loadstring("return x")() == 1)
	setfenv(0, _G)
	assert(not pcall(setfenv, 2 ^ 62, {}) and not pcall(setfenv, -1, {}))
end
