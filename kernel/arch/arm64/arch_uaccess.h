/* SPDX-License-Identifier: GPL-2.0 */
/* Speculation and copies from the process. */
#ifndef SYSCRIPT_ARCH_UACCESS_H
#define SYSCRIPT_ARCH_UACCESS_H

#include <linux/compiler.h>

/*
 * Between access_ok() and __copy_from_user_inatomic(), which masks the address on arm64
 * (uaccess_mask_ptr()).
 */
static __always_inline void arch_access_barrier(void)
{
}

#endif /* SYSCRIPT_ARCH_UACCESS_H */
