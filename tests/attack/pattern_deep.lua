-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A pattern with more items than the matcher may nest.
-- expect: ETIME | ok | error: too complex
-- memory-limit: 8192
function run()
	local ok = pcall(string.match, ("a"):rep(2 ^ 17), ("a?"):rep(2 ^ 17))
	while true do pcall(string.match, ("a"):rep(2 ^ 17), ("a?"):rep(2 ^ 17)) end
end
