-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- An insert at a huge position cannot exceed the time limit, whatever it moves.
-- expect: ok | ETIME | ENOBUFS
function run()
	for _, pos in ipairs { -2 ^ 31, 2 ^ 31, 2 ^ 53, -2 ^ 53, 0, tonumber("1e300") or 2 ^ 62, tonumber("nan") or -1 } do
		pcall(table.insert, {}, pos, 1)
		pcall(table.remove, {}, pos)
		pcall(table.insert, { 1, 2, 3 }, pos, 1)
		pcall(table.remove, { 1, 2, 3 }, pos)
	end
end
