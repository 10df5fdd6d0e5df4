-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Limits datagrams per second to UDP port 4000 from each sender, an IPv4 address or an IPv6 /64
-- network, all of whose addresses one host may have; the rest is dropped, and so is a packet whose
-- protocol or port is unknown. Keeps up to 4,096 senders, each until it has been silent for a
-- minute.

local PORT, A_SECOND, UNKNOWN = 4000, 10, 255

-- A source's seconds begin with its first datagram.
local sources = program.table{ "since", "count", entries = 4096, age = 60000, keys = 2 }

-- No IPv6 network in use begins with 32 bits of 0.
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
