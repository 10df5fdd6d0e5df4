-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ETIME
function run()
	::top::
	goto top
end
