-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Refuses DNS questions about a name and all names below it: the sender gets an error at once, and
-- does not wait.
--
-- The last bytes of a name decide, so no name is too long to check; one with more labels than the
-- time limit allows is refused (an IPv6 address's name has 34). Undecidable packets are refused:
-- questions over TCP, since a packet may have any part of the stream; several questions, or none; a
-- name without an end; a packet of unknown protocol, or with more than 60 bytes of IP headers.
-- Encrypted DNS does not use port 53.

local HEADER, NAME_MAX, LABEL_MAX, LABELS_MAX, DNS = 12, 255, 63, 36, 53
local TCP, UDP, UNKNOWN, HEADERS_MAX = 6, 17, 255, 60

-- In the format of packets: a length before each label, and a final 0.
local refused = "\7example\3net\0"

-- More of the packet than the 64 bytes that programs see by default.
program.copies = 256

-- Four bytes as a number, lower-casing letters; host names contain no other bytes that this
-- changes.
local LOWER = 0x20202020
local function folded(number) return bit.bor(number, LOWER) end

-- The refused name in words of four bytes, which compare faster; the last one may overlap.
local fours, offsets = {}, {}
for at = 0, #refused - 1, 4 do
	local offset = math.min(at, #refused - 4)
	local a, b, c, d = refused:byte(offset + 1, offset + 4)
	offsets[#offsets + 1] = offset
	fours[#fours + 1] = folded(((a * 256 + b) * 256 + c) * 256 + d)
end

-- Is the name from @first to its 0, at @last, the refused one, or below it?
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
	-- Bytes beyond the copied ones would take longer to read.
	if packet.l4 > HEADERS_MAX then return REJECT end
	return judge(packet, packet.l4 + 8 + HEADER)
end
