-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A step of zero never ends, or runs not at all: both are fine, a hang is not.
-- expect: ETIME | ok
function run()
	for _ = 1, 2, 0 do end
end
