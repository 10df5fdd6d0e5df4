-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Cannot be compiled: makes a table for each packet. docs/firewall-lua.md

local seen = 0

function run(packet)
	local fields = { packet:u4(12), packet:u4(16) }
	seen = seen + #fields
	return ACCEPT
end
