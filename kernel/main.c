// SPDX-License-Identifier: GPL-2.0
/* syscript.ko: system call scripting.  Loading and unloading, nothing else. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>

#include "backlog.h"
#include "compat.h"
#include "device.h"
#include "engine.h"
#include "syscalls.h"

#define SYSCRIPT_VERSION	"0.1.0"

static int __init syscript_init(void)
{
	int err;

	err = syscalls_init();
	if (err)
		return err;
	backlog_init();
	err = luajit_engine.init();
	if (err)
		goto exit_backlog;
	/* Last: from here on there are callers. */
	err = device_init();
	if (err)
		goto exit_engine;

	pr_info("version " SYSCRIPT_VERSION " loaded\n");
	return 0;

exit_engine:
	luajit_engine.exit();
exit_backlog:
	backlog_exit();
	syscalls_exit();
	return err;
}

static void __exit syscript_exit(void)
{
	device_exit();
	luajit_engine.exit();
	backlog_exit();
	syscalls_exit();
}

module_init(syscript_init);
module_exit(syscript_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The syscript authors");
MODULE_DESCRIPTION("System call scripting: Lua scripts of processes, run in the kernel");
MODULE_VERSION(SYSCRIPT_VERSION);
