// SPDX-License-Identifier: GPL-2.0
/*
 * The verifier's decoder for Frama-C's Eva (make prove-c): any bytes, at the end of what
 * may be read.  It looks at 64 of them at most, so more make no difference.
 */
#include "../../engine/confined/verify_x86.c"

#define MOST	64

_Static_assert(sizeof(try) / sizeof(*try) < MOST && sizeof(gate_6_barrier) / sizeof(*gate) < MOST,
	       "no row is longer");

static u8 bytes[MOST];
static volatile u8 any;

int main(void)
{
	struct verify_insn in;
	u32 left, i;

	for (left = 1; left <= MOST; left++) {
		for (i = 0; i < MOST; i++)
			bytes[i] = any;
		if (verify_decode(bytes + MOST - left, left, &in)) {
			/*@ assert in.index < 16 || in.index == NO_INDEX; */
		}
		if (left >= 4)
			verify_landing(bytes + MOST - left);
	}
	return 0;
}
