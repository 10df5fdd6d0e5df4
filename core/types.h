/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The kernel's names of integers, for files that are built for processes as well. */
#ifndef SYSCRIPT_TYPES_H
#define SYSCRIPT_TYPES_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
#endif

#endif /* SYSCRIPT_TYPES_H */
