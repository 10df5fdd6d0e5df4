-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Bytecode is refused however it comes.
-- expect: ok
local function refused(f, ...)
	local ok, code = pcall(f, ...)
	return not ok or not code
end
function run()
	for _, code in ipairs { "\27LJ\2\0", "\27Lua", "\27", "\27LJ\1\2" .. ("\0"):rep(100) } do
		for _, mode in ipairs { "b", "bt", "tb", "t", "", "x" } do
			assert(refused(load, code, "=b", mode))
		end
		assert(refused(loadstring, code) and refused(load, code))
		local at = 0
		assert(not load(function()
			at = at + 1
			return at <= #code and code:sub(at, at) or nil
		end))
	end
end
