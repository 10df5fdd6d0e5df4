// SPDX-License-Identifier: GPL-2.0
/* syscript.ko: system call scripting.  Loading and unloading, nothing else. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>

#include "net/frames_own.h"
#include "net/frames_rx.h"
#include "codemap.h"
#include "compat.h"
#include "cycles.h"
#include "device.h"
#include "embed/cpufreq.h"
#include "embed/events.h"
#include "embed/netfilter.h"
#include "embed/process.h"
#include "engine.h"
#include "kernel/syscalls.h"
#include "idle.h"
#include "internals.h"
#include "prog_registry.h"
#include "kernel/scratch.h"
#include "shared.h"
#include "symbols.h"
#include "usermode.h"
#include "version.h"
#include "syscall_observers.h"

/* Subsystems that call programs. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} prog_types[] = {
	{ netfilter_init, netfilter_exit },
	{ process_init, process_exit },
	{ cpufreq_init, cpufreq_exit },
	{ embed_threads_init, embed_threads_exit },
	{ embed_files_init, embed_files_exit },
	{ embed_timer_init, embed_timer_exit },
};

/* Undoes the first @n. */
static void exit_prog_types(unsigned int n)
{
	while (n--)
		prog_types[n].exit();
}

static int __init init_prog_types(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(prog_types); i++) {
		err = prog_types[i].init();
		if (err) {
			exit_prog_types(i);
			return err;
		}
	}
	return 0;
}

static int __init syscript_init_all(void)
{
	int err;

	internals_init();
	err = cycles_init();
	if (err)
		return err;
	err = usermode_init();
	if (err)
		return err;
	err = syscalls_init();
	if (err)
		return err;
	observers_init();
	frames_init();
	err = frames_rx_init();
	if (err)
		goto exit_watchers;
	err = scratch_init();
	if (err)
		goto exit_frames_rx;
	err = engine_register(&confined_engine);
	if (err)
		goto exit_scratch;
	err = prog_registry_init();
	if (err)
		goto unregister_confined;
	err = init_prog_types();
	if (err)
		goto exit_names;
	/* Last: once the device exists there are callers. */
	err = device_init();
	if (err)
		goto exit_prog_types;

	codemap_init();
	pr_info("version " SYSCRIPT_VERSION " loaded\n");
	return 0;

exit_prog_types:
	exit_prog_types(ARRAY_SIZE(prog_types));
exit_names:
	prog_registry_exit();
unregister_confined:
	engine_unregister(&confined_engine);
exit_scratch:
	scratch_exit();
exit_frames_rx:
	frames_rx_exit();
exit_watchers:
	observers_exit();
	return err;
}

static int __init syscript_init(void)
{
	int err = syscript_init_all();

	symbols_done();
	return err;
}

static void __exit syscript_exit(void)
{
	codemap_exit();
	device_exit();
	idle_exit();
	exit_prog_types(ARRAY_SIZE(prog_types));
	prog_registry_exit();
	shared_exit();
	engine_unregister(&confined_engine);
	scratch_exit();
	frames_rx_exit();
	observers_exit();
}

module_init(syscript_init);
module_exit(syscript_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The syscript authors");
MODULE_DESCRIPTION("System call scripting: Lua scripts of processes, run in the kernel");
MODULE_VERSION(SYSCRIPT_VERSION);
