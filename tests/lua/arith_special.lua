-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- NaN, infinities and the sign of zero through every operator and comparison.
local inf, nan = math.huge, 0 / 0

local function show(x)
	if x ~= x then return "nan" end
	if x == 0 then return 1 / x < 0 and "-0" or "+0" end
	return string.format("%.17g", x)
end

local function zero() return 0 end

function run()
	local v = { inf, -inf, nan, 0, -zero(), 1, -1, 1e308, 5e-324 }
	for _, a in ipairs(v) do
		local line = {}
		for _, b in ipairs(v) do
			line[#line + 1] = table.concat({ show(a + b), show(a - b), show(a * b),
				show(a / b), show(a % b), show(a ^ b) }, ",")
		end
		print(show(a), table.concat(line, " "))
	end
	for _, a in ipairs(v) do
		local line = {}
		for _, b in ipairs(v) do
			line[#line + 1] = (a < b and "<" or "") .. (a <= b and "[" or "") ..
				(a == b and "=" or "") .. (a ~= b and "!" or "") ..
				(a > b and ">" or "") .. (a >= b and "]" or "")
		end
		print(show(a), table.concat(line, " "))
	end
	assert(nan ~= nan and not (nan == nan))
	assert(not (nan < nan) and not (nan > nan) and not (nan <= 1))
	assert(0 == -zero())
	assert(inf + inf == inf and inf - 1 == inf)
	assert(1 / inf == 0 and 1 / -inf == 0)
	assert(show(-zero()) == "-0")
	-- The same inside a loop that is compiled.
	local neg, nans = 0, 0
	for i = -100, 100 do
		local z = i * 0
		if 1 / z < 0 then neg = neg + 1 end
		local q = (i - i) / (i * 0)
		if q ~= q then nans = nans + 1 end
	end
	print(neg, nans)
	assert(nans == 201)
end
