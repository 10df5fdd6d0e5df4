-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: too many|overflow | ENOBUFS
function run()
	return #string.char(unpack(setmetatable({}, { __index = function() return 65 end }), 1, 1e6))
end
