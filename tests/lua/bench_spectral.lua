-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Spectral norm of an infinite matrix, by the power method.
local function A(i, j) local ij = i + j - 1 return 1 / (ij * (ij - 1) * 0.5 + i) end
local function Av(x, y, n) for i = 1, n do local a = 0 for j = 1, n do a = a + x[j] * A(i, j) end y[i] = a end end
local function Atv(x, y, n) for i = 1, n do local a = 0 for j = 1, n do a = a + x[j] * A(j, i) end y[i] = a end end

function run()
	local n, u, v, t = 40, {}, {}, {}
	for i = 1, n do u[i] = 1 end
	for _ = 1, 10 do Av(u, t, n) Atv(t, v, n) Av(v, t, n) Atv(t, u, n) end
	local vbv, vv = 0, 0
	for i = 1, n do
		vbv = vbv + u[i] * v[i]
		vv = vv + v[i] * v[i]
	end
	local r = math.sqrt(vbv / vv)
	print(string.format("%.9f %.17g", r, r))
	assert(r > 1.2741 and r < 1.2743)
end
