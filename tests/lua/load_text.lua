-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- load and loadstring: readers, chunk names, syntax errors; no bytecode.
function run()
	assert(loadstring("return 1 + 1")() == 2)
	local parts, i = { "return ", "4", "2" }, 0
	assert(load(function() i = i + 1 return parts[i] end)() == 42)
	assert(load("return ...")(7) == 7)
	local f, e = load(function() return {} end)
	print(f, e)
	print(load(function() error("reader", 0) end))
	print(pcall(load, 5))
	for _, src in ipairs { "x =", "for", "if x then", "return return", "x = = 1", "local 1", "f(", "a.b:c", "end",
		"for i = 1 do end", "for a b in c do end", "function f(a,) end", "x = {1,2", "x = 'abc", "x = [[abc",
		"local function", "goto 1", "return 1,", "a = b c = d e", "break", "... = 1", "local t = {}; t.", "x = }", "@",
		"x = 1e", "--[[ unfinished", "return function(...) return function() return ... end end" } do
		local fn, msg = loadstring(src, "=syntax")
		assert(not fn, src)
		print(msg)
	end
	print(select(2, loadstring("x =\n\n\n= 1", "@file.lua")))
	print(select(2, loadstring("x = = 1", "some source\nmore")))
	print(select(2, loadstring("x = = 1")))
	local code = "\27LJ\2\0\0"
	print(loadstring(code))
	print(load(function() local c = code code = nil return c end, "=bytes"))
	print(load("\27LJ\2", "=b", "b"))
	print(load("return 1", "=t", "b"))
	assert(load("return 1", "=t", "t")() == 1)
	assert(load("return y", "=env", "t", { y = 9 })() == 9)
	local sum = 0
	for k = 1, 60 do sum = sum + loadstring("local x = ... return x * " .. k)(k) end
	assert(sum == 73810)
	-- The names of chunks in messages.
	for n = 30, 70, 4 do
		for _, name in ipairs { "", "@", "=", "x\n", "x\t", "\t" } do
			print(select(2, load("= 1", name .. ("n"):rep(n))))
			print(select(2, pcall(load("error('here')", name .. ("n"):rep(n)))))
		end
	end
	for n = 40, 56 do print(select(2, load(("n"):rep(n)))) end
	return sum
end
