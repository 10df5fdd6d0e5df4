-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The functions of fs with arguments of every wrong kind.
-- expect: ok
-- engine: luajit
function run()
	local d = syscall.openat(const.AT_FDCWD, "/", const.O_RDONLY, 0)
	local b = util.buffer(4096)
	for name, f in pairs(fs) do
		assert(not pcall(f), name)
		assert(not pcall(f, nil, nil, nil, nil, nil, nil), name)
		assert(not pcall(f, {}, {}, {}, {}, {}, {}), name)
		assert(not pcall(f, "x", "x", "x", "x", "x", "x"), name)
		assert(not pcall(f, 0 / 0, 0 / 0, 0 / 0, 0 / 0), name)
		assert(not pcall(f, 0.5, 0.5, 0.5, 0.5), name)
		assert(not pcall(f, 1e300, 1e300, 1e300, 1e300), name)
		for _, fd in ipairs { d, -1, 2 ^ 31, -2 ^ 31, 2 ^ 32, 2 ^ 53, -2 ^ 53 } do
			pcall(f, fd, 2 ^ 53, 2 ^ 53, 2 ^ 53, 2 ^ 53, 2 ^ 53)
			pcall(f, fd, -2 ^ 53, -2 ^ 53, -2 ^ 53, -2 ^ 53, -2 ^ 53)
			pcall(f, fd, b, 1, -1, -1, -1)
			pcall(f, fd, 0, 1, 0, 0, 0)
		end
	end
	assert(not pcall(fs.entries, d, { size = 1 }))
	assert(not pcall(fs.entries, d, { name = "x" }))
	assert(not pcall(fs.entries, d, { dirname = run }))
	assert(not pcall(fs.entries, d, { nam = {} }))
	assert(not pcall(fs.entries, d, { "name" }))
	assert(not pcall(fs.entries, d, { [true] = {} }))
	assert(not pcall(fs.entries, d, {}, 0))
	assert(not pcall(fs.entries, d, {}, -1))
	assert(not pcall(fs.seek, d, ""))
	assert(not pcall(fs.seek, d, ("x"):rep(9)))
	assert(fs.seek(d, ("\255"):rep(8)) < 0)
	assert(fs.seek(d, fs.tell(d)) == 0)
	assert(fs.tell(-1) == -errno.EBADF and fs.entries(-1, {}) == -errno.EBADF)
	assert(fs.stat_files(d, b, 0) == 0)
	-- One table for two columns, a table of another layout, a column that is the table of
	-- columns itself.
	local t = {}
	assert(fs.entries(d, { name = t, size = t, dirname = t }) > 0)
	local c = {}
	c.size = c
	syscall.lseek(d, 0, 0)
	assert(fs.entries(d, c) > 0)
	syscall.lseek(d, 0, 0)
	local m = setmetatable({}, { __index = error, __newindex = error })
	assert(fs.entries(d, { mtime = m, name = m }) > 0)
	syscall.close(d)
	return 0
end
