// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <string.h>

#include "syscript.h"

/* The meanings in <linux/syscript.h>, with the next step for the user. */
static const struct {
	int err;
	const char *text;
} texts[] = {
	{ 0, "no error" },
	{ EFAULT, "an address is not readable or writable: check the buffers that were passed" },
	{ EINVAL, "an unknown flag, or a length, a limit, a name or a number of arguments out of range: see syscript_register(3) and syscript_call(3)" },
	{ E2BIG, "the script is longer than 1 MiB, or a structure is newer than this library or kernel: shorten the script, or upgrade" },
	{ ENOTTY, "this file descriptor is not a script: use the one that syscript_register() returned" },
	{ EBADF, "this file descriptor is not open: use the one that syscript_register() returned" },
	{ ENOMEM, "no memory left for the script: close others, ask for a lower memory limit, or raise the limits on the process's memory (ulimit -v, -d, -l)" },
	{ EDQUOT, "too many scripts, or too much script memory: close some, or ask for lower memory limits" },
	{ EAGAIN, "the user backend could not start its clock thread: raise the limits on processes and on memory (ulimit -u, -v, -d)" },
	{ ENOENT, "there is no /dev/syscript: load the module (modprobe syscript), or use the user backend" },
	{ ENODEV, "/dev/syscript has no driver: load the module (modprobe syscript), or use the user backend" },
	{ ENXIO, "/dev/syscript has no driver: load the module (modprobe syscript), or use the user backend" },
	{ EACCES, "/dev/syscript may not be opened: ask the administrator to open it (chmod 0666 /dev/syscript), or use the user backend" },
	{ EPERM, "a security policy forbids it: ask the administrator, or use the user backend" },
	{ ESHUTDOWN, "scripts are switched off: write Y to /sys/module/syscript/parameters/enabled, or use the user backend" },
	{ EOPNOTSUPP, "this thread is watched (ptrace, a SIGSYS handler of a seccomp filter), so the kernel runs no script for it: register again to use the user backend" },
	{ EXDEV, "the script belongs to another process: register one in this process" },
	{ EDEADLK, "a script cannot be used from inside itself: call it from the program" },
	{ EBUSY, "the script cannot run in the kernel any more, and a call that was interrupted there is not over: call again, or register the script again" },
	{ EINTR, "a signal ended the call, or came before it began: call again" },
	{ ENOEXEC, "the script does not compile, fails at its top level, or has no function run: see the error text" },
	{ EPROTO, "the script raised an error: see syscript_error()" },
	{ ERANGE, "run() returned something that is not an integer: see syscript_error()" },
	{ ETIME, "over the time limit, the script is dead: register it again, with a higher limit if it needs one" },
	{ ETIMEDOUT, "over the wall-clock limit: the script can be called again; let it do less at a time, or give it a higher limit" },
	{ ENOBUFS, "over the memory limit, the script is dead: register it again, with a higher limit if it needs one" },
	{ ECANCELED, "a fatal signal ended the run, the script is dead" },
	{ ENOTRECOVERABLE, "the script is dead from an earlier call: close it and register it again" },
	{ EMFILE, "too many open files: close some, or raise the limit (ulimit -n)" },
	{ ENFILE, "too many open files on this machine: close some, or raise the limit (/proc/sys/fs/file-max)" },
	{ ENOSYS, "no Lua for the confined engine: its lua.image is missing or not to be trusted: install the library, or set SYSCRIPT_LUA_IMAGE" },
};

const char *syscript_strerror(int err)
{
	const char *text;

	if (err < 0)
		err = -err;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].err == err)
			return texts[i].text;
	}
	text = strerrordesc_np(err);
	return text ? text : "unknown error";
}
