-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Refuses DNS questions about a name and all names below it: the sender is told at once
-- that it gets no answer, and does not wait.

local HEADER = 12

-- As packets have it: lengths in front of labels, and 0.
local refused = "\7example\3net\0"

-- More of the packet than the 64 bytes that programs see by default.
program.copies = 256

local function lower(c)
	if c >= 65 and c <= 90 then return c + 32 end
	return c
end

-- Is what begins at @name the name that is refused?
local function is_refused(packet, name)
	for i = 1, #refused do
		if lower(packet:u1(name + i - 1) or 0) ~= refused:byte(i) then return false end
	end
	return true
end

function run(packet)
	if packet.transport ~= 17 or packet:u2(packet.l4 + 2) ~= 53 then return ACCEPT end
	local name = packet.l4 + 8 + HEADER
	local label = packet:u1(name) or 0
	-- Each label's end is the next one's beginning.
	while label > 0 and label < 64 do
		if is_refused(packet, name) then return REJECT end
		name = name + label + 1
		label = packet:u1(name) or 0
	end
	return ACCEPT
end
