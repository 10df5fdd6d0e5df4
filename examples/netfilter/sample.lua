-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Marks one packet in a hundred, for tools that look for marks.

local ONE_IN, MARK = 100, 0x5a
local packets = program.table{ "seen", entries = 8 }

function run(packet)
	-- One count for all CPUs; a local variable would lose some.
	if (packets:add(0):add("seen", 1) - 1) % ONE_IN == 0 then packet:set_mark(MARK) end
	return ACCEPT
end
