-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Floating-point state is live when the limit is reached.
-- expect: ETIME
function run()
	local x, y = 1.5, 0.25
	while x ~= y do
		x = math.sin(x) * y + 3
		y = math.sqrt(x * x + y)
	end
end
