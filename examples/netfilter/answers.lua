-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Only answers come in: of TCP and UDP, packets of flows that began here, and packets to ports
-- that are open to all. Loaded twice: at output it notes flows, at input it looks them up, in a
-- table that both programs share by its name. A flow ends when it has been silent for two
-- minutes. ICMP comes in, because the stack needs its errors and IPv6 its neighbours; other
-- protocols do not.

local OPEN = { [22] = true }
local ICMP, TCP, UDP, ICMP6 = 1, 6, 17, 58
local OUTPUT = 3
local flows = program.table{ name = "flows", entries = 8192, age = 120000, keys = 8 }

local function note(packet, ports)
	local protocol = packet.transport
	if packet.protocol == 0x800 then
		flows:add(protocol, ports, packet:u4(16), 0, 0, 0, packet:u4(12), 0)
	else
		flows:add(protocol, ports, packet:u4(24), packet:u4(28), packet:u4(32),
			packet:u4(36), packet:u4(16), packet:u4(20))
	end
end

local function is_answer(packet, ports)
	local protocol = packet.transport
	if packet.protocol == 0x800 then
		return flows:find(protocol, ports, packet:u4(12), 0, 0, 0, packet:u4(16), 0) ~= nil
	end
	return flows:find(protocol, ports, packet:u4(8), packet:u4(12), packet:u4(16),
		packet:u4(20), packet:u4(32), packet:u4(36)) ~= nil
end

function run(packet)
	local protocol = packet.transport
	if protocol == ICMP or protocol == ICMP6 then return ACCEPT end
	if protocol ~= TCP and protocol ~= UDP then
		return packet.hook == OUTPUT and ACCEPT or DROP
	end
	local from, to = packet:u2(packet.l4), packet:u2(packet.l4 + 2)
	if not from or not to then return DROP end
	if packet.hook == OUTPUT then
		note(packet, from * 65536 + to)
		return ACCEPT
	end
	if OPEN[to] then return ACCEPT end
	return is_answer(packet, to * 65536 + from) and ACCEPT or DROP
end
