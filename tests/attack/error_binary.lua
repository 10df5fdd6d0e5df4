-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Bytes of every kind in the text of an error.
-- expect: error: .
function run()
	local all = {}
	for c = 255, 1, -1 do all[#all + 1] = string.char(c) end
	error(table.concat(all), 0)
end
