-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Redefining run does not affect the current call.
-- expect: ok
function run()
	run = nil
	return 1
end
