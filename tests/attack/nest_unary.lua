-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
-- memory-limit: 8192
function run()
	for _, op in ipairs { "- ", "not ", "#", "- not #" } do
		for _, n in ipairs { 250, 100000 } do
			local f, e = loadstring("return " .. op:rep(n) .. "x")
			assert(not f and (e:find("too many") or e:find("overflow")), e)
		end
	end
end
