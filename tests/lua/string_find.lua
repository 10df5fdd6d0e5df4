-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Plain and pattern find: positions, start offsets, empty needles.
function run()
	local s = "hello world, hello lua"
	for _, needle in ipairs { "hello", "o", "", "lua", "x", "d, h", "l+", "%a+,", "^hello", "lua$", "^$", "." } do
		for _, init in ipairs { 1, 2, 8, 22, 23, 24, -3, -100 } do
			print(needle, init, s:find(needle, init))
			print(needle, init, s:find(needle, init, true))
		end
	end
	assert(("a.b"):find(".", 1, true) == 2 and ("a+b"):find("+", 1, true) == 2)
	assert((""):find("") == 1 and ("ab"):find("", 10) == 3)
	assert(("a\0b\0c"):find("\0c", 1, true) == 4)
	assert(("a\0b"):find("%z") == 2 and ("a\0b"):find("b") == 3)
	local h = ("ab"):rep(400) .. "abc"
	assert(h:find("abc", 1, true) == 801 and h:find("abc") == 801)
	assert(not h:find("abd", 1, true))
	local n, p = 0, 1
	while true do
		local a, b = h:find("ba", p, true)
		if not a then break end
		n, p = n + 1, b + 1
	end
	assert(n == 400)
	return n
end
