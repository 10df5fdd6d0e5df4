-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The script unmaps the scratch memory through which its strings are passed.
-- expect: ok | error: . | signal
function run()
	local a = util.buffer(16)
	local base = a - a % 4096
	syscall.munmap(base, 65536)
	for _ = 1, 200 do
		pcall(syscall.open, "/", 0, 0)
		pcall(util.poke, a, "i4", 1)
		pcall(util.buffer, 16)
	end
end
