-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Algebraic identities: compares the compiler's simplified forms with opaque ones.
local function hide(x) return tonumber(string.format("%.17g", x)) end

local function key(x)
	if x ~= x then return "nan" end
	if x == 0 then return 1 / x < 0 and "-0" or "0" end
	return string.format("%.17g", x)
end

function run()
	local values = { 0, 1, -1, 2, -2, 0.5, 3, 7, 2 ^ 31, -2 ^ 31, 2 ^ 52, 1e300, -1e-300, math.huge, -math.huge, 0 / 0 }
	values[#values + 1] = -values[1] * 1
	local ops = {
		function(x) return x + 0, x - 0, 0 - x, x * 1, x * -1, x * 2, x / 1, x / 2, x / 4, x * 0 end,
		function(x) return x - x, x + x, x / x, x % 1, x % 2, x ^ 0, x ^ 1, x ^ 2, x ^ 0.5, x ^ -1 end,
		function(x) return -(-x), (x + 1) - 1, (x * 2) / 2, 1 / (1 / x), (x - 1) + 1, 2 * x - x end,
		function(x) return math.abs(-x), math.abs(x), math.floor(x), math.ceil(x), math.min(x, x), math.max(x, 0) end,
		function(x) return math.floor(x / 8), math.floor(x * 0.25), x % 8, x - math.floor(x) end,
	}
	for o, f in ipairs(ops) do
		local first = {}
		for round = 1, 3 do
			for i, v in ipairs(values) do
				local r
				local h = hide(v) or v
				for _ = 1, 20 do r = { f(h) } end
				local line = {}
				for k = 1, #r do line[k] = key(r[k]) end
				line = table.concat(line, " ")
				if round == 1 then first[i] = line end
				assert(first[i] == line, line)
			end
		end
		for i = 1, #values do print(o, key(values[i]), first[i]) end
	end
	local b = 0
	for i = 1, 300 do
		b = bit.bxor(b, bit.band(i, 0xff), bit.lshift(bit.lshift(i, 3), 4), bit.rshift(bit.bnot(bit.bnot(i)), 0))
		b = bit.bor(bit.band(b, -1), 0)
		assert(bit.bxor(b, b) == 0 and bit.band(b, 0) == 0 and bit.bor(b, -1) == -1)
		assert(bit.band(bit.lshift(i, 8), 0xff) == 0)
	end
	print(b)
	return b
end
