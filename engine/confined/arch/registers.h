/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What registers are for in generated code, on the architecture that this is built for. */
#ifndef CONFINED_ARCH_REGISTERS_H
#define CONFINED_ARCH_REGISTERS_H

#ifdef __x86_64__
#include "x86/registers.h"
#else
#error "the confined engine is for x86-64"
#endif

#endif /* CONFINED_ARCH_REGISTERS_H */
