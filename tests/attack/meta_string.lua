-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Replaces the metatable of all strings, which the libraries use.
-- expect: ok
-- confined: error: ^x$
function run()
	local mt = getmetatable("")
	mt.__index = function(_, k) return #k end
	assert(("x").abc == 3)
	mt.__index = nil
	assert(not pcall(function() return ("x").rep end))
	mt.__eq, mt.__lt, mt.__concat, mt.__tostring, mt.__call = error, error, error, error, error
	assert("a" .. "b" == "ab" and "a" < "b" and tostring("x") == "x")
	assert(not pcall(function() return ("x")() end))
	assert(not pcall(setmetatable, "x", {}))
	mt.__metatable = false
	assert(getmetatable("") == false)
end
