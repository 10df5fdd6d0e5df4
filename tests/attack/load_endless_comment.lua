-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME | ENOBUFS
function run()
	local first = "--[==["
	load(function()
		local s = first or ("x"):rep(1000)
		first = nil
		return s
	end)
end
