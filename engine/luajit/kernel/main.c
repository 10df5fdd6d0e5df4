// SPDX-License-Identifier: GPL-2.0
/* The LuaJIT engine in the kernel: loading and unloading, nothing else. */
#include <linux/init.h>

#include "clock.h"
#include "engine.h"
#include "fpu.h"
#include "watchdog.h"

int __init luajit_init(void);
void luajit_exit(void);

/* Registering makes VMs, which run already. */
int __init luajit_init(void)
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

void luajit_exit(void)
{
	engine_unregister(&luajit_engine);
	watchdog_exit();
	clock_exit();
}
