-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Yields from within pcall, xpcall, iterators, metamethods and vararg functions.
local yield = coroutine.yield

local function collect(f)
	local out, co = {}, coroutine.create(f)
	local arg
	while true do
		local r = { coroutine.resume(co, arg) }
		out[#out + 1] = tostring(r[1]) .. ":" .. tostring(r[2])
		if coroutine.status(co) == "dead" then return table.concat(out, " ") end
		arg = #out
	end
end

function run()
	print(collect(function() return pcall(function() return yield("p") + yield("q") end) end))
	print(collect(function() return select(2, xpcall(function() error(yield("x")) end, function(m) return "h" .. m end)) end))
	print(collect(function()
		local s = 0
		for v in function(_, c) return yield("iter") < 4 and (c or 0) + 1 or nil end do s = s + v end
		return s
	end))
	local m = setmetatable({}, {
		__add = function(_, b) return yield("add") + b end,
		__index = function(_, k) return yield("index " .. k) end,
		__lt = function() return yield("lt") > 0 end,
		__concat = function(_, b) return yield("concat") .. b end,
		__call = function(_, ...) return yield("call"), ... end,
		__eq = function() return yield("eq") end,
		__newindex = function(_, k, v) rawset(getmetatable("").__index, "scratch", yield("set " .. k) + v) end,
	})
	print(collect(function() return m + 100 end))
	print(collect(function() return m.key end))
	print(collect(function() return m < m and "less" or "not" end))
	print(collect(function() return m .. "tail" end))
	print(collect(function() return (select("#", m(1, 2))) end))
	print(collect(function() m.z = 5 return string.scratch end))
	string.scratch = nil
	print(collect(function(...) local function v(...) return select("#", ...), yield(...) end return v(1, 2, 3) end))
	print(collect(function() return (("abc"):gsub(".", function(c) return yield(c) end)) end))
	print(collect(function() table.sort({ 2, 1 }, function(a, b) yield("s") return a < b end) end))
end
