-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The script of `syscript repl`.  run(addr, len) evaluates one line of input.
-- Returns 1 if more lines are needed to complete it, else 0.

local ERRNO_MAX = 4095
local HELP = [[
A line is an expression, whose values are printed, or a statement, of several lines
if it is not complete.  Names without `local` are kept for the next lines.
  syscall.NAME(...)      a system call: syscall.getpid(); a failure is -errno
  const.NAME, errno.NAME constants of C; errno.name(-2) is "ENOENT"
  util, fs, net          memory, files and messages: help util, help fs, help net
  string, table, math, bit, coroutine   as in Lua 5.1 and LuaJIT: help string
syscript(7) describes all of them.]]

-- Adds the error's name to a failed system call's result.
local function shown(value)
	local is_errno = type(value) == "number" and value < 0 and value >= -ERRNO_MAX
	local name = is_errno and value % 1 == 0 and errno.name(value)
	return name and ("%d (-%s)"):format(value, name) or tostring(value)
end

local function show(...)
	local values = { ... }
	for i = 1, select("#", ...) do values[i] = shown((select(i, ...))) end
	if select("#", ...) > 0 then print(table.concat(values, "\t")) end
	return 0
end

-- The names in a table of the language: help fs.
local function help(name)
	local names, of = {}, _G[name]
	if type(of) ~= "table" or not next(of) then return print(HELP) end
	for key in pairs(of) do names[#names + 1] = name .. "." .. tostring(key) end
	table.sort(names)
	print(table.concat(names, " "))
end

function run(addr, len)
	local text = util.str_in(addr, len)
	local asked = text:match("^%s*help%s*([%a_]*)[%s()]*$")
	if asked and not _G.help then return help(asked) or 0 end
	local chunk, message = load("return " .. text, "=stdin")
	local unfinished = not chunk and message:find("'<eof>'", 1, true)
	if not chunk then chunk, message = load(text, "=stdin") end
	if chunk then return show(chunk()) end
	if unfinished or message:find("'<eof>'", 1, true) then return 1 end
	print(message)
	return 0
end
