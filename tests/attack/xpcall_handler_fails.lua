-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A handler that fails, handled by itself.
-- expect: ETIME
function run()
	local function h() error("again") end
	while true do xpcall(error, h) end
end
