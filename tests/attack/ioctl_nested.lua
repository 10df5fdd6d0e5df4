-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- No script within a script.
-- expect: ok
-- backend: kernel
function run()
	local arg = util.buffer(256)
	local EDEADLK = -errno.EDEADLK
	local CALL, INFO = 0xc090ca42, 0xc0b0ca44
	local dev = syscall.open("/dev/syscript-luajit", const.O_RDWR, 0)
	if dev < 0 then dev = syscall.open("/dev/syscript", const.O_RDWR, 0) end
	assert(dev >= 0)
	for fd = 0, 63 do
		for size = 8, 256, 8 do
			local r = syscall.ioctl(fd, 0xc000ca42 + size * 65536, arg)
			assert(r < 0, r)
			r = syscall.ioctl(dev, 0xc000ca40 + size * 65536, arg)
			assert(r < 0, r)
		end
	end
	local refused = 0
	for fd = 0, 63 do
		if syscall.ioctl(fd, CALL, arg) == EDEADLK then refused = refused + 1 end
	end
	assert(refused >= 1)
	assert(syscall.ioctl(dev, INFO, arg) < 0)
	return refused
end
