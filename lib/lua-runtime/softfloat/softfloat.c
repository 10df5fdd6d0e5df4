// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The parts of Berkeley SoftFloat that Lua's numbers need, to be included in a C file. */
#define SOFTFLOAT_FAST_INT64
#define SOFTFLOAT_FAST_DIV32TO16
#define SOFTFLOAT_FAST_DIV64TO32
#define INLINE_LEVEL 5

#include <stdbool.h>
#include <stdint.h>

#include "platform.h"

/* SoftFloat's variables, made static, before its header declares them. */
static uint_fast8_t softfloat_roundingMode, softfloat_detectTininess = 1;
static uint_fast8_t softfloat_exceptionFlags, extF80_roundingPrecision = 80;

#include "softfloat_types.h"

/* Not inlined, so that the image has one copy of each. */
#define ONCE	static __attribute__((noinline))
ONCE float64_t f64_add(float64_t a, float64_t b);
ONCE float64_t f64_sub(float64_t a, float64_t b);
ONCE float64_t f64_mul(float64_t a, float64_t b);
ONCE float64_t f64_div(float64_t a, float64_t b);
ONCE float64_t f64_rem(float64_t a, float64_t b);
ONCE float64_t f64_sqrt(float64_t a);
ONCE float64_t f64_roundToInt(float64_t a, uint_fast8_t mode, bool exact);
ONCE float64_t i64_to_f64(int64_t a);
ONCE bool f64_lt_quiet(float64_t a, float64_t b);
ONCE bool f64_le_quiet(float64_t a, float64_t b);
ONCE float64_t softfloat_roundPackToF64(bool sign, int_fast16_t exponent, uint_fast64_t m);
ONCE float64_t softfloat_normRoundPackToF64(bool sign, int_fast16_t exponent, uint_fast64_t m);
ONCE uint_fast64_t softfloat_propagateNaNF64UI(uint_fast64_t a, uint_fast64_t b);
static void softfloat_raiseFlags(uint_fast8_t flags);

#include "internals.h"
#include "specialize.h"
#include "softfloat.h"

#include "softfloat_raiseFlags.c"
#include "s_approxRecip32_1.c"
#include "s_approxRecipSqrt_1Ks.c"
#include "s_approxRecipSqrt32_1.c"
#include "s_propagateNaNF64UI.c"
#include "s_normSubnormalF64Sig.c"
#include "s_roundPackToF64.c"
#include "s_normRoundPackToF64.c"
#include "s_addMagsF64.c"
#include "s_subMagsF64.c"
#include "s_mul64To128.c"
#include "f64_add.c"
#include "f64_sub.c"
#include "f64_mul.c"
#include "f64_div.c"
#include "f64_sqrt.c"
#include "f64_rem.c"
#include "f64_lt_quiet.c"
#include "f64_le_quiet.c"
#include "f64_roundToInt.c"
#include "i64_to_f64.c"
