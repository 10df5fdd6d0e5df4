-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Refuses DNS questions about a name and all names below it: the sender is told at once
-- that it gets no answer, and does not wait.
--
-- A name is decided by its last bytes, so none is long enough to hide it, and one of more
-- labels than it has time for is refused: 34 are in the name of an IPv6 address.
-- What cannot be decided is refused: questions over TCP, whose stream a packet has any part
-- of; several questions, or none; a name without an end; a packet whose protocol cannot be
-- told, or has more than 60 bytes of IP's headers.  Encrypted DNS is no question to port 53.

local HEADER, NAME_MAX, LABEL_MAX, LABELS_MAX, DNS = 12, 255, 63, 36, 53
local TCP, UDP, UNKNOWN, HEADERS_MAX = 6, 17, 255, 60

-- As packets have it: lengths in front of labels, and 0.
local refused = "\7example\3net\0"

-- More of the packet than the 64 bytes that programs see by default.
program.copies = 256

-- Four bytes as a number, letters in lower case; no name of a host has what else that changes.
local LOWER = 0x20202020
local function folded(number) return bit.bor(number, LOWER) end

-- The refused name in fours, which are compared faster than bytes; the last may overlap.
local fours, offsets = {}, {}
for at = 0, #refused - 1, 4 do
	local offset = math.min(at, #refused - 4)
	local a, b, c, d = refused:byte(offset + 1, offset + 4)
	offsets[#offsets + 1] = offset
	fours[#fours + 1] = folded(((a * 256 + b) * 256 + c) * 256 + d)
end

-- Does the name from @first to its 0, at @last, end as the one that is refused?
local function is_refused(packet, first, last)
	local at = last + 1 - #refused
	if at < first then return false end
	for i = 1, #fours do
		if folded(packet:u4(at + offsets[i]) or 0) ~= fours[i] then return false end
	end
	return true
end

local function judge(packet, first)
	local name, label = first, packet:u1(first) or NAME_MAX
	-- Each label's end is the next one's beginning.
	for _ = 1, LABELS_MAX do
		if label == 0 or label > LABEL_MAX then break end
		name = name + label + 1
		label = packet:u1(name) or NAME_MAX
	end
	if label > 0 or name >= first + NAME_MAX then return REJECT end
	return is_refused(packet, first, name) and REJECT or ACCEPT
end

function run(packet)
	if packet.transport == UNKNOWN then return REJECT end
	if packet.transport ~= UDP and packet.transport ~= TCP then return ACCEPT end
	local port = packet:u2(packet.l4 + 2)
	if not port then return REJECT end
	if port ~= DNS then return ACCEPT end
	if packet.transport == TCP or packet:u2(packet.l4 + 8 + 4) ~= 1 then return REJECT end
	-- What is not copied takes longer to read.
	if packet.l4 > HEADERS_MAX then return REJECT end
	return judge(packet, packet.l4 + 8 + HEADER)
end
