-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: ok
function run()
	for _, name in ipairs { "fork", "vfork", "clone", "clone3", "execve", "execveat", "exit", "exit_group", "rt_sigreturn",
		"ptrace", "setuid", "setresuid", "capset", "seccomp", "prctl", "unshare", "setns", "init_module", "kexec_load",
		"io_uring_enter", "iopl", "modify_ldt", "arch_prctl", "no_such_call", "", "GETPID" } do
		local ok, e = pcall(function() return syscall[name] end)
		assert(not ok, name)
		assert(rawget(syscall, name) == nil)
	end
	for _, key in ipairs { 1, true, {}, print } do
		pcall(function() return syscall[key] end)
		pcall(function() return errno[key] end)
		pcall(function() return const[key] end)
	end
	assert(not pcall(function() return errno.ENOSUCH end) and not pcall(function() return const.O_NOSUCH end))
end
