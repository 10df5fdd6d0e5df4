/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The purpose of each register in generated code, for the architecture that is built. */
#ifndef CONFINED_ARCH_REGISTERS_H
#define CONFINED_ARCH_REGISTERS_H

#if defined(__aarch64__)
#include "arm64/registers.h"
#elif defined(__x86_64__)
#include "x86/registers.h"
#else
#error "the confined engine is for x86-64 and arm64"
#endif

#endif /* CONFINED_ARCH_REGISTERS_H */
