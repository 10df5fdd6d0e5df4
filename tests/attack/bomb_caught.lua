-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A script cannot catch running out of memory and try again.
-- expect: ENOBUFS
-- confined: ETIME
function run()
	while true do
		pcall(function()
			local s = "x"
			while true do s = s .. s end
		end)
	end
end
