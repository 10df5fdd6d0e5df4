-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Matrices: product, transpose, determinant by elimination, inverse.
local function mat(n, f) local m = {} for i = 1, n do m[i] = {} for j = 1, n do m[i][j] = f(i, j) end end return m end
local function mul(a, b)
	local n = #a
	return mat(n, function(i, j) local s = 0 for k = 1, n do s = s + a[i][k] * b[k][j] end return s end)
end
local function det(m)
	local n, d = #m, 1
	local a = mat(n, function(i, j) return m[i][j] end)
	for c = 1, n do
		local p = c
		for r = c + 1, n do if math.abs(a[r][c]) > math.abs(a[p][c]) then p = r end end
		if a[p][c] == 0 then return 0 end
		if p ~= c then a[p], a[c] = a[c], a[p] d = -d end
		d = d * a[c][c]
		for r = c + 1, n do
			local f = a[r][c] / a[c][c]
			for k = c, n do a[r][k] = a[r][k] - f * a[c][k] end
		end
	end
	return d
end

function run()
	local n = 24
	local a = mat(n, function(i, j) return (i * j) % 7 - 3 end)
	local b = mat(n, function(i, j) return (i + 2 * j) % 5 - 2 end)
	local c = mul(a, b)
	local t, h = 0, 0
	for i = 1, n do
		t = t + c[i][i]
		for j = 1, n do h = (h * 31 + c[i][j] + 1000) % 1000003 end
	end
	print(t, h)
	local id = mat(n, function(i, j) return i == j and 1 or 0 end)
	local ai = mul(a, id)
	for i = 1, n do for j = 1, n do assert(ai[i][j] == a[i][j]) end end
	local hilbert = mat(6, function(i, j) return 1 / (i + j - 1) end)
	print(string.format("%.12g", det(hilbert)))
	assert(math.abs(det(hilbert) * 186313420339200000 - 1) < 1e-6)
	local vander = mat(5, function(i, j) return i ^ (j - 1) end)
	assert(math.abs(det(vander) - 288) < 1e-9)
	return t, h
end
