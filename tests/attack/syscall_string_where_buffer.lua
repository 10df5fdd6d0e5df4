-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A Lua string as an output buffer is refused: strings never change.
-- expect: ok
function run()
	local s = ("x"):rep(100)
	assert(not pcall(syscall.read, 0, s, 100))
	assert(not pcall(syscall.getcwd, s, 100))
	assert(not pcall(syscall.uname, s))
	assert(s == ("x"):rep(100))
end
