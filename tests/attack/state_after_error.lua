-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: second thoughts
function run()
	local ok = pcall(error, "first")
	assert(not ok)
	error("second thoughts")
end
