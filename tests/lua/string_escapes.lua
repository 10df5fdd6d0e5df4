-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Escapes and long brackets in source text.
function run()
	assert("\65\066\x43\u{44}" == "ABCD")
	assert("\a\b\f\n\r\t\v\\\"\'" == "\7\8\12\10\13\9\11\92\34\39")
	assert("a\z
		b" == "ab")
	assert("a\
b" == "a\nb")
	assert([[
x]] == "x" and [==[a]]b]=]c]==] == "a]]b]=]c")
	assert("\u{20AC}" == "\226\130\172" and "\u{10FFFF}" == "\244\143\191\191")
	assert(#"\0\00\000" == 3)
	for _, src in ipairs { [["\300"]], [["\xZZ"]], [["\q"]], [["a]], [['a"]], "[[a", "[=[a]]", [["\u{110000}"]],
		[["\u{}"]], "\"a\nb\"" } do
		local f, e = loadstring("return " .. src, "=s")
		assert(not f, src)
		print(e)
	end
	assert(loadstring("return 'a\\\r\nb'")() == "a\nb")
	assert(loadstring("--[[ x ]] return --[==[ y\n ]==] 5 -- z")() == 5)
	assert(loadstring("#!shebang\nreturn 1") == nil or true)
end
