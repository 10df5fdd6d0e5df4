-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A fake length, as large as possible.
-- expect: ok | ETIME | ENOBUFS | error: .
function run()
	local t = setmetatable({}, { __len = function() return 2 ^ 53 end })
	pcall(table.concat, t)
	pcall(table.insert, t, 1)
	pcall(table.sort, t)
	pcall(unpack, t)
	for _ in ipairs(t) do end
end
