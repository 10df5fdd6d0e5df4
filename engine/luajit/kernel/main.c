// SPDX-License-Identifier: GPL-2.0
/* syscript_luajit.ko: LuaJIT as an engine of syscript.ko.  Loading and unloading, nothing else. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "clock.h"
#include "compat.h"
#include "device.h"
#include "engine.h"
#include "fpu.h"
#include "symbols.h"
#include "version.h"
#include "watchdog.h"

static unsigned short mode = 0660;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "Mode of /dev/syscript-luajit where no udev rule sets it (default: 0660)");

/* A minor for local use, as /dev/syscript's. */
#define DEVICE_MINOR	248
MODULE_ALIAS_MISCDEV(DEVICE_MINOR);
MODULE_ALIAS("devname:syscript-luajit");

static const struct file_operations device_ops = DEVICE_OPS;

/* The device is for users who may use LuaJIT, and they may use any engine. */
static struct script_device device = {
	.misc = { .minor = DEVICE_MINOR, .name = "syscript-luajit", .fops = &device_ops },
};

/* Registering makes and runs VMs. The device comes last, because from then on there are callers. */
static int __init luajit_init_all(void)
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
	if (err)
		goto exit_watchdog;
	err = script_device_add(&device, mode);
	if (!err)
		return 0;
	engine_unregister(&luajit_engine);
exit_watchdog:
	watchdog_exit();
exit_clock:
	clock_exit();
	return err;
}

static int __init luajit_init(void)
{
	int err = luajit_init_all();

	symbols_done();
	return err;
}

static void __exit luajit_exit(void)
{
	script_device_remove(&device);
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
