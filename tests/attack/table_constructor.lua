-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ENOBUFS
function run()
	local t = {}
	while true do t = { t, {}, {}, { {} } } end
end
