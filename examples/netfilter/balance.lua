-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- UDP and TCP to port 4000 of 10.0.0.9 go to one of three servers, by the client's port;
-- their replies come from 10.0.0.9. The choice is the same for each packet, so there is no state. A
-- server's packet whose port is unknown, such as a later fragment, is dropped.

local PORT, TCP, UDP, UNKNOWN = 4000, 6, 17, 255

local function address(a, b, c, d)
	return ((a * 256 + b) * 256 + c) * 256 + d
end

local service = address(10, 0, 0, 9)
local servers = { address(10, 0, 0, 1), address(10, 0, 0, 2), address(10, 0, 0, 3) }

local function go_on(packet, offset, to)
	return packet:put_u4(offset, to) and ACCEPT or DROP
end

local function is_of_the_service(packet)
	local source = packet:u4(12)
	return packet:u4(16) == service or source == servers[1] or source == servers[2] or
	       source == servers[3]
end

function run(packet)
	if packet.protocol ~= 0x800 then return ACCEPT end
	if packet.transport ~= UNKNOWN and packet.transport ~= TCP and packet.transport ~= UDP then
		return ACCEPT
	end
	local from, port = packet:u2(packet.l4) or 0, packet:u2(packet.l4 + 2)
	if packet.transport == UNKNOWN or not port then
		return is_of_the_service(packet) and DROP or ACCEPT
	end
	if port == PORT and packet:u4(16) == service then
		return go_on(packet, 16, servers[from % #servers + 1])
	end
	if from == PORT and packet:u4(12) == servers[port % #servers + 1] then
		return go_on(packet, 12, service)
	end
	return ACCEPT
end
