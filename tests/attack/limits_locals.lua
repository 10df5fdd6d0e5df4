-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- More locals, upvalues, constants, parameters, registers than a function may have.
-- expect: ok
-- confined: ok | error: not enough memory
-- memory-limit: 16384
function run()
	local function refused(src)
		local f, e = loadstring(src)
		assert(not f and (e:find("too many") or e:find("more than") or e:find("too complex") or e:find("too long")), e)
	end
	refused(("local x; "):rep(300))
	local names, decl = {}, {}
	for i = 1, 300 do names[i] = "v" .. i end
	refused("local " .. table.concat(names, ","))
	refused("return function(" .. table.concat(names, ",") .. ") end")
	for i = 1, 150 do decl[i] = "local v" .. i end
	local uses = table.concat(names, "+", 1, 150)
	refused(table.concat(decl, " ") .. " return function() return " .. uses .. " end")
	refused("return f(" .. ("x,"):rep(300) .. "x)")
	local consts = {}
	for i = 1, 70000 do consts[i] = 2 ^ 40 + i end
	refused("return {" .. ("x,"):rep(300):sub(1, -2) .. "}, " .. ("f("):rep(1) .. ("x,"):rep(400) .. "x)")
	local f, e = loadstring("local t = {" .. table.concat(consts, ",") .. "} return #t")
	assert(f or e:find("too many") or e:find("too"), e)
	consts = nil
	refused("while x do " .. ("a = b "):rep(40000) .. " end")
	f = loadstring("local s = '" .. ("x"):rep(500000) .. "' return #s")
	assert(f() == 500000)
	f, e = loadstring(("\n"):rep(1000000) .. "x")
	assert(not f)
end
