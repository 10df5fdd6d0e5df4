// SPDX-License-Identifier: GPL-2.0
/* syscript_luajit.ko: LuaJIT as an engine of syscript.ko.  Loading and unloading, nothing else. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>

#include "clock.h"
#include "compat.h"
#include "engine.h"
#include "fpu.h"
#include "version.h"
#include "watchdog.h"

/* Registering makes VMs, which run already. */
static int __init luajit_init(void)
{
	int err = fpu_init();

	if (err)
		return err;
	err = clock_init();
	if (err)
		return err;
	err = watchdog_init();
	if (err)
		goto exit_clock;
	err = engine_register(&luajit_engine);
	if (!err)
		return 0;
	watchdog_exit();
exit_clock:
	clock_exit();
	return err;
}

static void __exit luajit_exit(void)
{
	engine_unregister(&luajit_engine);
	watchdog_exit();
	clock_exit();
}

module_init(luajit_init);
module_exit(luajit_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The syscript authors");
MODULE_DESCRIPTION("System call scripting: LuaJIT in the kernel, for users who are trusted with it");
MODULE_VERSION(SYSCRIPT_VERSION);
MODULE_IMPORT_NS(COMPAT_NS(SYSCRIPT));
