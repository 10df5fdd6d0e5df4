-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Arrays that shrink in place leave holes too small for any later array: few bytes take many pages.
-- expect: ENOBUFS
-- confined: ENOBUFS | error: too many results
-- memory-limit: 1024
function run()
	local nothing, kept = {}, {}
	for size = 4000, 7500, 10 do
		local batch = {}
		for i = 1, 4 do batch[i] = { i, unpack(nothing, 1, size) } end
		for i = 1, 4 do
			batch[i].x = i
			kept[#kept + 1] = batch[i]
		end
	end
end
