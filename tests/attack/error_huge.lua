-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A text far longer than the caller's buffer is cut.
-- expect: error: ^huge\.lua|x{100}
function run()
	error(("x"):rep(200000), 0)
end
