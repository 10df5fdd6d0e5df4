-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A position at the other end of the world: whatever is moved there, it takes no more than its time.
-- expect: ok | ETIME | ENOBUFS
function run()
	for _, pos in ipairs { -2 ^ 31, 2 ^ 31, 2 ^ 53, -2 ^ 53, 0, tonumber("1e300") or 2 ^ 62, tonumber("nan") or -1 } do
		pcall(table.insert, {}, pos, 1)
		pcall(table.remove, {}, pos)
		pcall(table.insert, { 1, 2, 3 }, pos, 1)
		pcall(table.remove, { 1, 2, 3 }, pos)
	end
end
