/* SPDX-License-Identifier: GPL-2.0 */
/* Speculation and copies from the process. */
#ifndef SYSCRIPT_ARCH_UACCESS_H
#define SYSCRIPT_ARCH_UACCESS_H

#include <asm/barrier.h>

/* Between access_ok() and __copy_from_user_inatomic(). */
static __always_inline void arch_access_barrier(void)
{
	barrier_nospec();
}

#endif /* SYSCRIPT_ARCH_UACCESS_H */
