/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between the kernels: 6.1, 6.12 and the newest. */
#ifndef KGCC_COMPAT_H
#define KGCC_COMPAT_H

#include <linux/version.h>

#ifdef __ASSEMBLY__

#include <generated/asm-offsets.h>

/* The current task, relative to %gs. */
#ifdef X86_current_task
#define KGCC_CURRENT	pcpu_hot + X86_current_task
#else
#define KGCC_CURRENT	current_task
#endif

#else

#include <linux/module.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define KGCC_HAS_CACHE_ARGS
#endif

typedef void (*kgcc_range_fn)(unsigned long start, unsigned long end);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
static inline void kgcc_module_for_each_range(const struct module *module, kgcc_range_fn fn)
{
	for (enum mod_mem_type type = 0; type < MOD_MEM_NUM_TYPES; type++) {
		unsigned long base = (unsigned long)module->mem[type].base;

		if (module->mem[type].size)
			fn(base, base + module->mem[type].size);
	}
}

static inline void kgcc_module_init_range(const struct module *module, kgcc_range_fn fn)
{
	for_class_mod_mem_type(type, init) {
		unsigned long base = (unsigned long)module->mem[type].base;

		if (module->mem[type].size)
			fn(base, base + module->mem[type].size);
	}
}
#else
static inline void kgcc_module_init_range(const struct module *module, kgcc_range_fn fn)
{
	unsigned long base = (unsigned long)module->init_layout.base;

	if (module->init_layout.size)
		fn(base, base + module->init_layout.size);
}

static inline void kgcc_module_for_each_range(const struct module *module, kgcc_range_fn fn)
{
	unsigned long base = (unsigned long)module->core_layout.base;

	fn(base, base + module->core_layout.size);
	kgcc_module_init_range(module, fn);
}
#endif

#endif /* __ASSEMBLY__ */

#endif
