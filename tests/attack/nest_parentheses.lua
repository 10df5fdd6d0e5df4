-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Parser recursion: each kind is refused with a syntax error, at any depth.
-- expect: ok
-- memory-limit: 8192
function run()
	for _, n in ipairs { 190, 250, 5000, 100000 } do
		local f, e = loadstring("return " .. ("("):rep(n) .. "1" .. (")"):rep(n))
		assert(f or e:find("too many") or e:find("overflow"), e)
		assert(f == nil or n < 201)
	end
end
