-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Fast Fourier transform, forward and back, against the definition.
local function fft(re, im, n, sign)
	local j = 1
	for i = 1, n - 1 do
		if i < j then re[i], re[j], im[i], im[j] = re[j], re[i], im[j], im[i] end
		local m = n / 2
		while m >= 1 and j > m do j = j - m m = m / 2 end
		j = j + m
	end
	local len = 2
	while len <= n do
		local ang = sign * 2 * math.pi / len
		for i = 1, n, len do
			for k = 0, len / 2 - 1 do
				local wr, wi = math.cos(ang * k), math.sin(ang * k)
				local a, b = i + k, i + k + len / 2
				local xr, xi = re[b] * wr - im[b] * wi, re[b] * wi + im[b] * wr
				re[b], im[b], re[a], im[a] = re[a] - xr, im[a] - xi, re[a] + xr, im[a] + xi
			end
		end
		len = len * 2
	end
end

function run()
	local n, re, im, orig = 256, {}, {}, {}
	for i = 1, n do
		re[i] = math.sin(i * 0.3) + (i % 5) / 5
		im[i] = 0
		orig[i] = re[i]
	end
	fft(re, im, n, -1)
	for _, k in ipairs { 0, 1, 17, 128 } do
		local dr, di = 0, 0
		for i = 0, n - 1 do
			dr = dr + orig[i + 1] * math.cos(2 * math.pi * k * i / n)
			di = di - orig[i + 1] * math.sin(2 * math.pi * k * i / n)
		end
		assert(math.abs(dr - re[k + 1]) < 1e-9 and math.abs(di - im[k + 1]) < 1e-9)
	end
	print(string.format("%.10f %.10f %.10f", re[1], re[13], im[13]))
	fft(re, im, n, 1)
	for i = 1, n do assert(math.abs(re[i] / n - orig[i]) < 1e-12) end
end
