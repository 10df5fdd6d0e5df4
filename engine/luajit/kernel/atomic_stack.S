/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel/arch/x86/stack.S once more, for runs of atomic.c: its usual callees are LuaJIT's, called
 * without a retpoline.
 */
#define STACK_ATOMIC
#include "stack.S"
