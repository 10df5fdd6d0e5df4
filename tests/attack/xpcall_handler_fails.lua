-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- An error handler that fails, and handles its own error.
-- expect: ETIME
function run()
	local function h() error("again") end
	while true do xpcall(error, h) end
end
