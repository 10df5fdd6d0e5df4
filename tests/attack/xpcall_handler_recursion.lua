-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME | error: stack overflow | ENOBUFS
-- memory-limit: 8192
function run()
	local function h() return xpcall(error, h) end
	while true do h() end
end
