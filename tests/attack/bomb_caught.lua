-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Running out of memory cannot be caught and repeated.
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
