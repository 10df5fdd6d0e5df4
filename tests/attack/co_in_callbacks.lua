-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Coroutines started from within C functions: gsub, sort, tostring.
-- expect: ETIME | ENOBUFS | error: overflow
-- memory-limit: 8192
local function f()
	return (("x"):gsub("x", function() return coroutine.wrap(f)() end))
end
function run()
	while true do pcall(f) end
end
