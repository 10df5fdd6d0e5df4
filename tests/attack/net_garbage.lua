-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Thousands of batches: they are garbage-collected.
-- expect: ok
-- time-limit: 10000
local headers = util.buffer(64 * 64)

function run()
	local kept = {}
	for i = 1, 5000 do
		kept[i % 7 + 1] = net.messages(headers, 64)
	end
	return 0
end
