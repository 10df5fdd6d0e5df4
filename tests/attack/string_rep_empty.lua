-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- An empty string, repeated very often.
-- expect: ok
function run()
	assert(#(""):rep(1e9) == 0 and #(""):rep(2 ^ 31 - 1) == 0)
	assert(#(""):rep(1e9, "") == 0)
end
