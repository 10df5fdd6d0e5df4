/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel/arch/x86/stack.S, assembled again for atomic.c: its usual callees are LuaJIT's, and
 * called without a retpoline.
 */
#define STACK_ATOMIC
#include "stack.S"
