-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- What syscript(1) repl registers.  run(addr, len) is one line of input.
-- Returns 1 if more lines are needed to complete it, else 0.

local function show(...)
	if select("#", ...) > 0 then print(...) end
	return 0
end

function run(addr, len)
	local text = util.str_in(addr, len)
	local chunk, message = load("return " .. text, "=stdin")
	local unfinished = not chunk and message:find("'<eof>'", 1, true)
	if not chunk then chunk, message = load(text, "=stdin") end
	if chunk then return show(chunk()) end
	if unfinished or message:find("'<eof>'", 1, true) then return 1 end
	print(message)
	return 0
end
