-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Gradual underflow: results below 2^-1022 keep their bits.
function run()
	local x, steps = 1, 0
	while x > 0 do
		x = x / 2
		steps = steps + 1
	end
	assert(steps == 1075, steps)
	local tiny = 2 ^ -1074
	assert(tiny > 0 and tiny / 2 == 0)
	assert(tiny * 2 ^ 1000 * 2 ^ 74 == 1)
	assert(2 ^ -1022 - tiny < 2 ^ -1022)
	local sum = 0
	for _ = 1, 1000 do
		sum = sum + tiny
	end
	assert(sum == 1000 * tiny)
	print(string.format("%.17g %.17g %.17g", tiny, sum, 2 ^ -1022 - tiny))
	for i = 1020, 1076, 4 do
		print(i, string.format("%.17g %a", 1.1 * 2 ^ -i, 1.1 * 2 ^ -i))
	end
	local m, e = math.frexp(tiny)
	assert(m == 0.5 and e == -1073)
	assert(math.ldexp(m, e) == tiny)
	assert(tonumber("4.9406564584124654e-324") == tiny)
	assert(tonumber("2.4703282292062327e-324") == 0)
	assert(tonumber("2.4703282292062328e-324") == tiny)
	return steps
end
