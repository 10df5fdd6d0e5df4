-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- xpcall: handlers with every result, arguments, errors in handlers.
function run()
	print(xpcall(function() error("e", 0) end, function(m) return "handled " .. m end))
	print(xpcall(function(...) return ... end, print, 1, 2, 3))
	print(xpcall(function() return "fine" end, function() return "unused" end))
	print(xpcall(error, function(m) return type(m), "second dropped" end))
	print(xpcall(error, function(m) return m end, { 1 }) == false)
	print((xpcall(function() error("x") end, function() error("in handler") end)))
	print((xpcall(function() local x = nil + 1 end, function(m) return nil + 1 end)))
	print(xpcall(function() local x = nil + 1 end, function(m) return (m:gsub("^.-:%d+: ", "")) end))
	print((pcall(xpcall)))
	print(pcall(xpcall, 5))
	local depth = 0
	local function handler(m)
		depth = depth + 1
		return m
	end
	for i = 1, 200 do
		xpcall(function() if i % 2 == 0 then error(i) end end, handler)
	end
	assert(depth == 100)
	print(xpcall(function()
		return xpcall(function() error("in", 0) end, function(m) error(m .. "+handler", 0) end)
	end, function(m) return "outer " .. m end))
	local function rec(n) return rec(n + 1) + 1 end
	local ok, m = xpcall(rec, function(msg) return (msg:gsub("^.-:%d+: ", "")) end, 1)
	print(ok, m)
	return depth
end
