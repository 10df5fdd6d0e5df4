-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
-- memory-limit: 8192
function run()
	for _, open in ipairs { "do ", "while x do ", "if x then ", "for i = 1, 2 do ", "for k in f do " } do
		for _, n in ipairs { 250, 20000 } do
			local f, e = loadstring(open:rep(n) .. (" end"):rep(n))
			assert(not f and (e:find("too many") or e:find("overflow") or e:find("more than")), e)
		end
	end
	local f, e = loadstring(("repeat "):rep(20000) .. (" until x"):rep(20000))
	assert(not f and (e:find("too many") or e:find("overflow")), e)
end
