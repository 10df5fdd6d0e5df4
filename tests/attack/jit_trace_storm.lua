-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Thousands of small traces: machine code and trace numbers run out and are reused.
-- expect: ok | ETIME
-- memory-limit: 8192
-- time-limit: 5000
function run()
	local total = 0
	for k = 1, 1500 do
		local f = loadstring("local s = " .. k .. " for i = 1, 70 do s = s + i * " .. k % 9 .. " end return s")
		total = total + f() - k
	end
	print(total)
	local want = 0
	for k = 1, 1500 do want = want + 2485 * (k % 9) end
	assert(total == want)
end
