-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Strings where numbers are expected, and numbers where strings are.
local function try(f, ...)
	local ok, e = pcall(f, ...)
	print(ok, ok and e or (e:gsub("^.-:%d+: ", "")))
end

function run()
	assert("10" + 5 == 15 and "0x10" * "2" == 32 and "3" ^ "2" == 9)
	assert(" 7 " - 0 == 7 and -"2" == -2 and "7" % 4 == 3 and "9" / "3" == 3)
	assert(10 .. 20 == "1020" and 1.5 .. "x" == "1.5x")
	assert(("5"):rep("3") == "555" and ("hello"):sub("2", "3") == "el")
	assert(math.max("10", 9) == 10)
	assert("10" ~= 10 and not ("abc" == 0))
	assert(string.format("%d|%s", "42", 42) == "42|42")
	try(function() return "a" + 1 end)
	try(function() return {} + 1 end)
	try(function() return nil .. "x" end)
	try(function() return "x" .. {} end)
	try(function() return 1 < "2" end)
	try(function() return "1" < 2 end)
	try(function() return {} < {} end)
	try(function() return nil > 1 end)
	try(function() return -{} end)
	try(function() return #5 end)
	try(function() return true .. "" end)
	try(function() for i = "a", 2 do end end)
	try(function() for i = 1, {} do end end)
	try(function() for i = 1, 2, "x" do end end)
	try(string.rep, {}, 2)
	try(string.sub, "x", "y")
	try(math.floor, "z")
	try(math.floor, "2.5")
	local n = 0
	for i = "1", "5", "2" do n = n + i end
	assert(n == 9)
	local sum = 0
	for i = 1, 300 do
		sum = sum + (i .. "")
	end
	assert(sum == 45150)
	local t = {}
	t["1"], t[1] = "s", "n"
	assert(t["1"] == "s" and t[1] == "n")
	return sum
end
