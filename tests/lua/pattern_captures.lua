-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Captures, positions, back references, balanced pairs, frontiers, repetition.
local function show(...)
	local t = { ... }
	for i = 1, select("#", ...) do t[i] = tostring(t[i]) end
	print(select("#", ...), table.concat(t, "|"))
end

function run()
	show(("key = value"):match("^(%w+)%s*=%s*(%w+)$"))
	show(("key = value"):find("(%w+)%s*=%s*(%w+)"))
	show(("  x"):match("()%s*()"))
	show(("abcabc"):match("(abc)%1"))
	show(("'a' \"b\""):match("(['\"])(.-)%1"))
	show(("f(a(b)c)d(e)"):match("%b()"))
	show(("f(a(b)c"):match("%b()"))
	show(("THE (quick) fox"):find("%f[%a]%a+%f[%A]"))
	show(("x"):match("y"))
	show(("hello"):match(".-(l+)(.*)"))
	show(("aaa"):match("a-"), ("aaa"):match("a-$"), ("aaa"):match("^a*"), ("aaa"):match("a?a?a?a?"))
	show(("2026-11-20"):match("(%d+)-(%d+)-(%d+)"))
	show(("((()))"):match("^(%(*)(.*)$"))
	show((("x"):rep(20)):match(("(x)"):rep(20)))
	show(("abc"):match("((a)(b))(c)"))
	show(("%d"):match("%%d"))
	show(("a]b"):match("[]]"), ("a^b"):match("[b^]"))
	show(("\0a\0"):match("%z(%a)%z"))
	show(("one;two;;four"):match("([^;]*);([^;]*);([^;]*);([^;]*)"))
	show(("x = 1"):match("^%s*(.-)%s*$"), ("  trim  "):match("^%s*(.-)%s*$"))
	local w = {}
	for a in ("THE (quick) fox"):gmatch("%f[%a]%a+") do w[#w + 1] = a end
	assert(table.concat(w, ",") == "THE,quick,fox")
	assert(not pcall(string.match, ("x"):rep(40), ("(x)"):rep(40)))
	assert(("x"):rep(40):match("(x+)x") == ("x"):rep(39))
end
