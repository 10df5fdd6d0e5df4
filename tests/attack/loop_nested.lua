-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Loops of which each is short, but the nest is not.
-- expect: ETIME
function run()
	local n = 0
	for _ = 1, 1e5 do for _ = 1, 1e5 do for _ = 1, 1e5 do n = n + 1 end end end
	return n
end
