-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- One large step in place of many small ones.
-- expect: ENOBUFS
function run()
	local t = {}
	for i = 1, 2 ^ 26 do t[i] = 0 end
end
