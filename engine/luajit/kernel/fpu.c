// SPDX-License-Identifier: GPL-2.0
/*
 * Implements fpu.h: finds switch_fpu_return(), and checks that registers are restored after the
 * kernel has used the FPU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "fpu.h"
#include "symbols.h"

static void no_load(void)
{
}

DEFINE_STATIC_CALL(fpu_load_registers, no_load);

static void __init look_at_fpu(struct fpu_regs *regs)
{
	fpu_lock(false);
	fpu_take(regs);
	fpu_restore(regs);
	fpu_unlock(false);
}

/* Are registers restored after the kernel has used them? */
static bool __init fpu_comes_back(void)
{
	struct fpu_regs before = { 0 }, others, after = { 0 };
	bool taken;

	look_at_fpu(&before);
	memcpy(&others, &before, sizeof(others));
	memset(others.xmm, ~before.xmm[0][0], sizeof(others.xmm));
	kernel_fpu_begin();
	fpu_restore(&others);
	kernel_fpu_end();
	taken = test_thread_flag(TIF_NEED_FPU_LOAD);
	look_at_fpu(&after);
	return taken && !test_thread_flag(TIF_NEED_FPU_LOAD) &&
	       !memcmp(&before, &after, sizeof(before));
}

int __init fpu_init(void)
{
	void *load = symbols_find("switch_fpu_return");

	if (load)
		static_call_update(fpu_load_registers, load);
	if (load && fpu_comes_back())
		return 0;
	pr_err("this kernel loads FPU registers in a way that is not known here\n");
	return -ENOENT;
}
