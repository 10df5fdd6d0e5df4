-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Heap sort, quick sort, merge sort, shell sort and radix sort agree.
local function heap(a)
	local n = #a
	local function sift(i, m)
		local v = a[i]
		while true do
			local c = i * 2
			if c > m then break end
			if c < m and a[c + 1] > a[c] then c = c + 1 end
			if a[c] <= v then break end
			a[i] = a[c]
			i = c
		end
		a[i] = v
	end
	for i = math.floor(n / 2), 1, -1 do sift(i, n) end
	for m = n, 2, -1 do a[1], a[m] = a[m], a[1] sift(1, m - 1) end
end
local function quick(a, lo, hi)
	lo, hi = lo or 1, hi or #a
	while lo < hi do
		local p, i, j = a[math.floor((lo + hi) / 2)], lo, hi
		while i <= j do
			while a[i] < p do i = i + 1 end
			while a[j] > p do j = j - 1 end
			if i <= j then a[i], a[j] = a[j], a[i] i = i + 1 j = j - 1 end
		end
		quick(a, lo, j)
		lo = i
	end
end
local function merge(a)
	local n, b, w = #a, {}, 1
	while w < n do
		for lo = 1, n, 2 * w do
			local i, mid, hi = lo, math.min(lo + w, n + 1), math.min(lo + 2 * w, n + 1)
			local j = mid
			for k = lo, hi - 1 do
				if i < mid and (j >= hi or a[i] <= a[j]) then b[k] = a[i] i = i + 1 else b[k] = a[j] j = j + 1 end
			end
		end
		a, b = b, a
		w = w * 2
	end
	return a
end
local function shell(a)
	local gap = 1
	while gap < #a / 3 do gap = gap * 3 + 1 end
	while gap >= 1 do
		for i = gap + 1, #a do
			local v, j = a[i], i
			while j > gap and a[j - gap] > v do a[j] = a[j - gap] j = j - gap end
			a[j] = v
		end
		gap = math.floor(gap / 3)
	end
end
local function radix(a)
	for shift = 0, 24, 8 do
		local bins = {}
		for i = 0, 255 do bins[i] = {} end
		for i = 1, #a do
			local b = bins[bit.band(bit.rshift(a[i], shift), 255)]
			b[#b + 1] = a[i]
		end
		local n = 0
		for i = 0, 255 do for j = 1, #bins[i] do n = n + 1 a[n] = bins[i][j] end end
	end
end

function run()
	local src, x = {}, 99
	for i = 1, 700 do x = (x * 16807) % 2147483647 src[i] = x end
	local function copy() return { unpack(src) } end
	local ref = copy()
	table.sort(ref)
	local h = 0
	for i = 1, 700 do h = (h * 31 + ref[i]) % 1000003 end
	for _, f in ipairs { heap, quick, merge, shell, radix } do
		local a = copy()
		a = f(a) or a
		assert(#a == 700)
		for i = 1, 700 do assert(a[i] == ref[i]) end
	end
	print(h)
	return h
end
