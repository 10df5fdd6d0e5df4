-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Long chains that do not nest.
-- expect: ok
-- confined: ok | ETIME
-- memory-limit: 16384
function run()
	local f, e = loadstring("if x then a = 1 " .. ("elseif x then a = 2 "):rep(2000) .. " end")
	assert(f or e:find("too") or e:find("limit"), e)
	f, e = loadstring("return x" .. (" + x"):rep(20000))
	assert(f or e:find("too"), e)
	f, e = loadstring("return x" .. (" and x"):rep(20000))
	assert(f or e:find("too"), e)
	f, e = loadstring("return x" .. (".x"):rep(20000))
	assert(f or e:find("too"), e)
	f, e = loadstring("return x" .. ("()"):rep(20000))
	assert(f or e:find("too"), e)
	f, e = loadstring("return x" .. ("[x"):rep(20000) .. ("]"):rep(20000))
	assert(not f)
	f, e = loadstring("return f" .. ("(f"):rep(20000) .. (")"):rep(20000))
	assert(not f)
end
