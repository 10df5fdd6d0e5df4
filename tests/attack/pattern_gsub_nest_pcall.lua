-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME | ENOBUFS
-- memory-limit: 8192
local function f()
	pcall(string.gsub, "x", "x", f)
	pcall(string.gsub, "x", "x", f)
	return "x"
end
function run() f() end
