-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- gsub with strings, tables and functions; anchors, limits, empty matches.
local function show(...)
	print(...)
end

function run()
	show(("hello world"):gsub("o", "0"))
	show(("hello world"):gsub("o", "0", 1))
	show(("hello world"):gsub("o", "0", 0))
	show(("hello"):gsub("", "-"))
	show(("hello"):gsub("x*", "-"))
	show(("abc"):gsub("%w", "%0%0"))
	show(("abc"):gsub("(%w)(%w)", "%2%1"))
	show(("abc"):gsub("b", "%%"))
	show(("hello world"):gsub("(%w+)", "<%1>"))
	show(("$name is $age"):gsub("%$(%w+)", { name = "lua", age = 33 }))
	show(("$name is $x"):gsub("%$(%w+)", { name = "lua", x = false }))
	show(("abc"):gsub("%w", function(c) return c == "b" and "[B]" or nil end))
	show(("abc"):gsub("(a)(b)(c)", function(a, b, c) return c .. b .. a end))
	show(("abc"):gsub("()", function(p) return p end))
	show(("aaa"):gsub("^a", "b"))
	show(("a b c"):gsub("%s+", ""))
	show(("x\0y"):gsub("%z", "0"))
	show((" a  b "):gsub("^%s*(.-)%s*$", "%1"))
	show(("one two"):gsub("(%w+) (%w+)", "%2 %1 %0"))
	show(("abc"):gsub("%w", { a = 1, b = 2.5 }))
	assert(("abc"):gsub("%w", setmetatable({}, { __index = function(_, k) return k:upper() end })) == "ABC")
	for _, f in ipairs {
		function() return ("x"):gsub("x", "%2") end,
		function() return ("x"):gsub("x", function() return {} end) end,
		function() return ("x"):gsub("x", { x = true }) end,
		function() return ("x"):gsub("x") end,
		function() return ("x"):gsub("(", "%1") end,
	} do
		local ok, e = pcall(f)
		assert(not ok)
		print((e:gsub("^.-:%d+: ", "")))
	end
	local calls = 0
	local r = ("x"):rep(500):gsub("x", function()
		calls = calls + 1
		return calls % 10
	end)
	assert(calls == 500 and #r == 500 and r:sub(1, 12) == "123456789012")
	-- A callback that itself calls gsub.
	print((("a1b2c3"):gsub("%a%d", function(m) return (m:gsub("%d", function(d) return d * 2 end)) end)))
	return calls
end
