-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Like table.c, in Lua, where an array indexed by number is a table, too.

local PORT, A_SECOND = 4000, 1000000000

local sources = program.table{ "since", "count", entries = 1024, age = 60000 }

function run(packet)
	if packet.transport ~= 17 or packet:u2(packet.l4 + 2) ~= PORT then
		return ACCEPT
	end
	local source = sources:add(packet:u4(12))
	if packet.ms - source.since >= 1000 then
		source.since = packet.ms
		source.count = 0
	end
	return source:add("count", 1) <= A_SECOND and ACCEPT or DROP
end
