-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- TCP port 2200 is open to hosts that have sent datagrams to UDP ports 7001, 7002 and 7003, in this
-- order; for ten seconds, or as long as they use it. A packet whose protocol or port is unknown is
-- dropped.

local DOOR, FIRST, KNOCKS = 2200, 7001, 3
local TCP, UDP, UNKNOWN = 6, 17, 255
local visitors = program.table{ "heard", entries = 1024, age = 10000, keys = 4 }

-- By the IPv6 address, or the IPv4 address with zeros before it.
local function find(packet)
	if packet.protocol == 0x800 then return visitors:find(0, 0, 0, packet:u4(12)) end
	return visitors:find(packet:u4(8), packet:u4(12), packet:u4(16), packet:u4(20))
end

local function add(packet)
	if packet.protocol == 0x800 then return visitors:add(0, 0, 0, packet:u4(12)) end
	return visitors:add(packet:u4(8), packet:u4(12), packet:u4(16), packet:u4(20))
end

local function knock(packet, number)
	local visitor = number == 0 and add(packet) or find(packet)
	if visitor then
		visitor.heard = (visitor.heard == number or number == 0) and number + 1 or 0
	end
	return DROP
end

function run(packet)
	if packet.transport == UNKNOWN then return DROP end
	if packet.transport ~= UDP and packet.transport ~= TCP then return ACCEPT end
	local port = packet:u2(packet.l4 + 2)
	if not port then return DROP end
	if packet.transport == UDP and port >= FIRST and port < FIRST + KNOCKS then
		return knock(packet, port - FIRST)
	end
	if packet.transport ~= TCP or port ~= DOOR then return ACCEPT end
	local visitor = find(packet)
	return visitor and visitor.heard == KNOCKS and ACCEPT or DROP
end
