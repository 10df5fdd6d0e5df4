-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A parser error about a function names the line where the function begins, also if it is found
-- before the body.
local function list(n, what)
	local t = {}
	for i = 1, n do t[i] = what .. i end
	return table.concat(t, ",")
end

local parameters = list(201, "p")
local sources = {
	"\n\nlocal function f(" .. parameters .. ") end",
	"\n\nreturn function(" .. parameters .. ") end",
	"\n\nlocal a = {} function a.b(" .. parameters .. ") end",
	"\n\nlocal a = {} function a:b(" .. parameters .. ") end",
	"\n\nreturn { 1, function(" .. parameters .. ") end }",
	"\n\nreturn function() return function(" .. parameters .. ") end end",
	"\n\nlocal function f() local " .. list(201, "l") .. " end",
}

function run()
	for _ = 1, 3 do
		for i, source in ipairs(sources) do
			local f, message = loadstring(source, "=s")
			assert(not f, i)
			assert(message:find("line 3 ", 1, true) or message:find("s:3:", 1, true), message)
			for number in message:gmatch("%-?%d+") do
				assert(tonumber(number) >= 1 and tonumber(number) <= 200, message)
			end
		end
	end
end
