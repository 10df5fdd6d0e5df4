/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Operations of the library that need assembler. */
#ifndef LIB_ARCH_H
#define LIB_ARCH_H

#if defined(__x86_64__)
#include "x86/arch.h"
#elif defined(__aarch64__)
#include "arm64/arch.h"
#else
#error "the script engine is for x86-64 and arm64"
#endif

#endif /* LIB_ARCH_H */
