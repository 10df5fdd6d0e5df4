-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Integers of 64 bits make no pointers, show no addresses of objects, and keep their types and
-- values in traces, tables, coroutines and collections.
-- expect: ok
local large = { 0x7fffffffffffffffLL, -0x8000000000000000LL, 0xfedcba9876543210ULL, -2LL, 0xcccccccccccccccULL }

-- Nothing but integers of 64 bits comes of operators, and their metatable is out of reach.
local function closed()
	for _, v in ipairs(large) do
		for _, f in ipairs {
			function() return nil + v end, function() return v + nil end, function() return v - nil end,
			function() return "x" + v end, function() return v.x end, function() return v[1] end,
			function() v[0] = 1 end, function() return v() end, function() return #v end,
			function() return setmetatable(v, {}) end, function() return getmetatable(v).__add end,
			function() return loadstring("return 1i") () end, function() return util.peek(v, "i8") end,
			function() return require("ffi") end, function() return ffi.cast("char *", v) end,
		} do
			local ok, got = pcall(f)
			assert(not ok or got == nil, tostring(got))
		end
		assert(getmetatable(v) == "ffi" and type(v) == "cdata" and type(v + 1) == "cdata")
		assert(rawequal(v, v) and not rawequal(v, v + 0) and v == v + 0)
	end
end

-- Addresses of the kernel have their upper bits set.
local function hidden()
	for _, v in ipairs(large) do
		for i = 1, 100 do
			local text = string.format("%p", v + i)
			assert(not text:find("^0xffff"), text)
			assert(not tostring(v):find("0x"))
		end
	end
end

-- Constants of the script's choice in loops that get compiled.
local function constants()
	local s = 0ULL
	for i = 1, 400 do
		s = bit.bxor(s * 0x9090909090909090ULL + 0x0f0b0f0b0f0b0f0bULL, 0xfa1e0ff3fa1e0ff3ULL) - 0x00000000fa1e0ff3LL
		s = bit.rol(s, i) + (i % 2 == 0 and 0x12345678LL or -0x12345678LL)
	end
	return s
end

-- Types that change while a trace is recorded or a function is compiled.
local function mixed()
	local values, n = { 1, 2LL, 3ULL, "4", 0.5, false }, 0
	for i = 1, 600 do
		local a, b = values[i % 6 + 1], values[i % 5 + 1]
		local ok, c = pcall(function() return a * b + 1 end)
		if ok and c == 3 then n = n + 1 end
		if a == b then n = n + 1 end
	end
	return n
end

local function collected()
	local keep = setmetatable({}, { __mode = "k" })
	local strong = {}
	for i = 1, 3000 do
		local v = i * 1LL
		keep[v] = v
		strong[i % 50 + 1] = v
		if i % 300 == 0 then collectgarbage() end
	end
	for i = 1, 50 do assert(keep[strong[i]] == strong[i] and strong[i] > 2900) end
	local co = coroutine.wrap(function(v) while true do v = coroutine.yield(v * 3LL) end end)
	for i = 1, 500 do assert(co(i) == i * 3) end
end

function run()
	closed()
	hidden()
	local a, b, c = constants(), constants(), mixed()
	assert(a == b and c == mixed())
	collected()
end
