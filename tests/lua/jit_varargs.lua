-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Varargs in traces: select loops, packing, forwarding to builtins, changing counts.
local function sel(...) local s = 0 for i = 1, select("#", ...) do s = s + select(i, ...) end return s end
local function pack(...) return { n = select("#", ...), ... } end
local function fwd(f, ...) return f(...) end
local function opt(a, ...) local b, c = ... return a + (b or 10) + (c or 100) end

function run()
	local s = 0
	for i = 1, 200 do s = s + sel(i, 2, 3) end
	assert(s == 20100 + 1000)
	for i = 1, 200 do
		if i % 4 == 0 then s = s + sel() elseif i % 4 == 1 then s = s + sel(i) elseif i % 4 == 2 then s = s + sel(i, i, i, i, i) else s = s + sel(1, 2) end
	end
	print(s)
	local n = 0
	for i = 1, 200 do
		local p = pack(i, nil, i)
		n = n + p.n + p[1] - p[3]
		n = n + fwd(math.max, i, 5, 100) + fwd(sel, 1, 1, 1)
		n = n + opt(1) + opt(1, 2) + opt(1, 2, 3)
	end
	print(n)
	local function compose(f, g) return function(...) return f(g(...)) end end
	local inc = compose(function(x) return x + 1 end, compose(function(x) return x * 2 end, function(...) return (select("#", ...)) end))
	for i = 1, 100 do n = n + inc(i, i, i) end
	local args = {}
	for i = 1, 20 do args[i] = i end
	for i = 1, 100 do n = n + sel(unpack(args, 1, i % 20 + 1)) end
	print(n)
	for i = 1, 100 do n = n + #string.char(unpack(args, 1, i % 5)) + (select("#", unpack(args, i % 20, 20))) end
	return s, n
end
