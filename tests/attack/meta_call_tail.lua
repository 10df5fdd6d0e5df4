-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	local t
	t = setmetatable({}, { __call = function() return t() end })
	return t()
end
