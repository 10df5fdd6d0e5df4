-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Accepts the first packet of a TCP connection only when it comes again, half a second later or
-- more, as clients send it. A client that has done so is known for a minute, by its IPv4 address or
-- IPv6 /64 network. A packet whose protocol or flags are unknown is dropped.

local SYN, ACK, TCP, UNKNOWN = 0x02, 0x10, 6, 255
local PATIENCE = 500 -- ms; clients wait for 1000
local clients = program.table{ "first", entries = 4096, age = 60000, keys = 2 }

-- No IPv6 network in use begins with 32 bits of 0.
local function client_of(packet)
	if packet.protocol == 0x800 then return clients:add(0, packet:u4(12)) end
	return clients:add(packet:u4(8), packet:u4(12))
end

function run(packet)
	if packet.transport == UNKNOWN then return DROP end
	if packet.transport ~= TCP then return ACCEPT end
	local flags = packet:u1(packet.l4 + 13)
	if not flags then return DROP end
	if bit.band(flags, SYN + ACK) ~= SYN then return ACCEPT end
	local client = client_of(packet)
	if client.first == 0 then client.first = packet.ms end
	return packet.ms - client.first >= PATIENCE and ACCEPT or DROP
end
