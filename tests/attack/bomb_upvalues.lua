-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS
function run()
	local last
	while true do
		local a, b, c, d = last, {}, {}, {}
		last = function() return a, b, c, d end
	end
end
