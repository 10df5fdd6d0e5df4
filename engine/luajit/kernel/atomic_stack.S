/* SPDX-License-Identifier: GPL-2.0 */
/* See atomic.h. */
#define STACK_ATOMIC
#include "stack.S"
