-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- So many datagrams a second to UDP port 4000 from each IPv4 address; the rest is
-- dropped.  Of up to 4,096 addresses, and those that are silent for a minute are forgotten.

local PORT, A_SECOND = 4000, 10

-- Whose seconds begin with their first datagram.
local sources = program.table{ "since", "count", entries = 4096, age = 60000 }

function run(packet)
	if packet.protocol ~= 0x800 or packet.transport ~= 17 or
	   packet:u2(packet.l4 + 2) ~= PORT then
		return ACCEPT
	end
	local source = sources:add(packet:u4(12))
	if packet.ms - source.since >= 1000 then
		source.since = packet.ms
		source.count = 0
	end
	return source:add("count", 1) <= A_SECOND and ACCEPT or DROP
end
