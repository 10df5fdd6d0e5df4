-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
-- engine: luajit
function run()
	::top::
	goto top
end
