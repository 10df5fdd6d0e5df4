-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- So many datagrams a second to UDP port 4000 from each sender, an IPv4 address or an IPv6
-- network of 64 bits, all of whose addresses one host may have; the rest is dropped, and so
-- is a packet whose protocol or port cannot be told.  Of up to 4,096 senders, and those
-- that are silent for a minute are forgotten.

local PORT, A_SECOND, UNKNOWN = 4000, 10, 255

-- Whose seconds begin with their first datagram.
local sources = program.table{ "since", "count", entries = 4096, age = 60000, keys = 2 }

-- No network of IPv6 that is in use begins with 32 bits of 0.
local function sender_of(packet)
	if packet.protocol == 0x800 then return sources:add(0, packet:u4(12)) end
	return sources:add(packet:u4(8), packet:u4(12))
end

function run(packet)
	if packet.transport == UNKNOWN then return DROP end
	if packet.transport ~= 17 then return ACCEPT end
	local port = packet:u2(packet.l4 + 2)
	if not port then return DROP end
	if port ~= PORT then return ACCEPT end
	local source = sender_of(packet)
	if packet.ms - source.since >= 1000 then
		source.since = packet.ms
		source.count = 0
	end
	return source:add("count", 1) <= A_SECOND and ACCEPT or DROP
end
