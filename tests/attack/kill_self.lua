-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: signal
-- backend: kernel
function run()
	syscall.kill(syscall.getpid(), const.SIGKILL)
	while true do end
end
