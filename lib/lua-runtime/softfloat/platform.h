/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The platform's parameters for Berkeley SoftFloat, which is compiled as part of one C file. */
#ifndef LUA_RUNTIME_SOFTFLOAT_PLATFORM_H
#define LUA_RUNTIME_SOFTFLOAT_PLATFORM_H

#include <stdint.h>

#define LITTLEENDIAN 1
#define INLINE static inline
#define THREAD_LOCAL

/* As "opts-GCC.h" does it, without integers of 128 bits. */
static inline uint_fast8_t softfloat_countLeadingZeros32(uint32_t a)
{
	return a ? __builtin_clz(a) : 32;
}
#define softfloat_countLeadingZeros32 softfloat_countLeadingZeros32

static inline uint_fast8_t softfloat_countLeadingZeros64(uint64_t a)
{
	return a ? __builtin_clzll(a) : 64;
}
#define softfloat_countLeadingZeros64 softfloat_countLeadingZeros64

#endif /* LUA_RUNTIME_SOFTFLOAT_PLATFORM_H */
