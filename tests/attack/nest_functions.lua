-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
-- memory-limit: 8192
function run()
	for _, n in ipairs { 250, 5000, 30000 } do
		local f, e = loadstring("return " .. ("function() return "):rep(n) .. "1" .. (" end"):rep(n))
		assert(not f and (e:find("too many") or e:find("overflow")), e)
	end
end
