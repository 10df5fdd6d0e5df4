-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: no room
-- confined: error: not enough memory
function run()
	while true do util.buffer(1000) end
end
