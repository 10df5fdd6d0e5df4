-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Nested loops, each short by itself.
-- expect: ETIME
function run()
	local n = 0
	for _ = 1, 1e5 do for _ = 1, 1e5 do for _ = 1, 1e5 do n = n + 1 end end end
	return n
end
