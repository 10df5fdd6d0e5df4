/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Masks for the module and the library, for the architecture that they are built for. */
#ifndef SYSCRIPT_ARCH_MASK_H
#define SYSCRIPT_ARCH_MASK_H

#if defined(__x86_64__)
#include "x86/mask.h"
#elif defined(__aarch64__)
#include "arm64/mask.h"
#else
#error "no masks for this architecture"
#endif

#endif /* SYSCRIPT_ARCH_MASK_H */
