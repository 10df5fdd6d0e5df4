/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The purpose of each register in generated code, for the architecture that is built. */
#ifndef CONFINED_ARCH_REGISTERS_H
#define CONFINED_ARCH_REGISTERS_H

#ifdef __x86_64__
#include "x86/registers.h"
#else
#error "the confined engine is for x86-64"
#endif

#endif /* CONFINED_ARCH_REGISTERS_H */
