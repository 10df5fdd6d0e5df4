-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Right associative operators recurse.
-- expect: ok
-- memory-limit: 8192
function run()
	for _, op in ipairs { "..", "^" } do
		local f, e = loadstring("return x" .. (op .. "x"):rep(50000))
		assert(not f and (e:find("too many") or e:find("overflow") or e:find("too complex")), e)
	end
end
