-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Line numbers and variable names in the texts of runtime errors.
local function text(f, ...)
	local ok, e = pcall(f, ...)
	assert(not ok)
	print(e)
end
local up
global_nil = nil

function run()
	local loc
	text(function() return up.x end)
	text(function() return loc.x end)
	text(function() return global_nil.x end)
	text(function() return global_nil() end)
	text(function() loc() end)
	text(function() up() end)
	text(function() string.nope() end)
	text(function() local t = {} t.a.b.c = 1 end)
	text(function() local t = {} t:method() end)
	text(function() return 1 + nil end)
	text(function() return loc + 1 end)
	text(function() return {} + 1 end)
	text(function() return "a" * 2 end)
	text(function() return loc .. "x" end)
	text(function() return #loc end)
	text(function() return -{} end)
	text(function() return 1 < "x" end)
	text(function() return {} < {} end)
	text(function() return nil <= 1 end)
	text(function() local a = {} a[nil] = 1 end)
	text(function() local a = {} a[0 / 0] = 1 end)
	text(function() for i = 1, "x" do end end)
	text(function() for i in 5 do end end)
	text(function()
		local x = 1
		local y = 2
		error("line of the call")
	end)
	text(function()
		local t = setmetatable({}, { __index = function(_, k)
			error("in index " .. k)
		end })
		return t.key
	end)
	text(loadstring("\n\n\nlocal x = nil + 1", "=chunk"))
	text(loadstring("error('in string chunk')", "@path/name.lua"))
	text(loadstring("error('in string chunk')", "return nothing special"))
	text(string.rep, nil)
	text(setmetatable, 1)
	text(function() ("x"):rep({}) end)
	text(function() math.floor("x") end)
	text(function() table.concat({ {} }) end)
	text(function() ipairs() end)
	-- Tail calls: the line that they end on, and no level of error(), also by __call.
	text(function()
		return ("x"):rep(
			{}
		)
	end)
	local function fails() local level = 3 error("tail call", level) end
	local object = setmetatable({}, { __call = fails })
	text(function() return fails() end)
	text(function() return object() end)
	text(function() local r = object() return r end)
	-- Raised from a compiled loop: the same line.
	text(function()
		local s = 0
		for i = 1, 300 do
			local t = i < 299 and { v = i } or nil
			s = s + t.v
		end
	end)
end
