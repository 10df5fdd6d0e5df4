-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Accepts the first packet of a TCP connection only when it comes again, half a second
-- later or more, as clients send it.

local SYN, ACK = 0x02, 0x10
local PATIENCE = 500 -- ms; clients wait for 1000
local clients = program.table{ "first", entries = 4096, age = 60000 }

function run(packet)
	if packet.protocol ~= 0x800 or packet.transport ~= 6 or
	   bit.band(packet:u1(packet.l4 + 13) or 0, SYN + ACK) ~= SYN then
		return ACCEPT
	end
	local client = clients:add(packet:u4(12))
	if client.first == 0 then client.first = packet.ms end
	return packet.ms - client.first >= PATIENCE and ACCEPT or DROP
end
