-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- One name that never ends.
-- expect: ENOBUFS
-- confined: ok
function run()
	load(function() return "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" end)
end
