-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Exponential backtracking over optional items.
-- expect: ETIME
function run()
	return #(("a"):rep(40):find(("a?"):rep(40) .. ("a"):rep(40)) and "x" or "")
end
