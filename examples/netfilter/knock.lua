-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- TCP port 2200 is open to those who have sent a datagram to UDP ports 7001, 7002 and 7003,
-- in this order; for ten seconds, or as long as they use it.

local DOOR, FIRST, KNOCKS = 2200, 7001, 3
local visitors = program.table{ "heard", entries = 1024, age = 10000 }

local function knock(source, number)
	local visitor = number == 0 and visitors:add(source) or visitors:find(source)
	if visitor then
		visitor.heard = (visitor.heard == number or number == 0) and number + 1 or 0
	end
	return DROP
end

function run(packet)
	if packet.protocol ~= 0x800 then return ACCEPT end
	local source, port = packet:u4(12), packet:u2(packet.l4 + 2) or 0
	if packet.transport == 17 and port >= FIRST and port < FIRST + KNOCKS then
		return knock(source, port - FIRST)
	end
	if packet.transport ~= 6 or port ~= DOOR then return ACCEPT end
	local visitor = visitors:find(source)
	return visitor and visitor.heard == KNOCKS and ACCEPT or DROP
end
