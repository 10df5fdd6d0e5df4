-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Limits datagrams per second to UDP port 4000, from all senders together; the rest is dropped, and
-- so is a packet whose protocol or port is unknown.
--
--   syscript load limit limit.lua --for netfilter --at "inet input"

local PORT, A_SECOND, UNKNOWN = 4000, 10, 255
local second, count = 0, 0

function run(packet)
	if packet.transport == UNKNOWN then return DROP end
	if packet.transport ~= 17 then return ACCEPT end
	local port = packet:u2(packet.l4 + 2)
	if not port then return DROP end
	if port ~= PORT then return ACCEPT end
	local now = math.floor(packet.ms / 1000)
	if second ~= now then
		second, count = now, 0
	end
	count = count + 1
	return count <= A_SECOND and ACCEPT or DROP
end
