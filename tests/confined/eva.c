// SPDX-License-Identifier: GPL-2.0
/*
 * The verifier's decoder, for Frama-C's Eva (make prove-c): arbitrary bytes at the end of readable
 * memory. The decoder reads at most 64 of them, so more would make no difference.
 */
#include "../../engine/confined/arch/x86/verify_x86.c"

#define MOST	64

_Static_assert(sizeof(try) / sizeof(*try) < MOST && sizeof(thunk_6_barrier) / sizeof(*thunk) < MOST,
	       "no row is longer");

static u8 bytes[MOST];
static volatile u8 any;

/* Decodes first bytes from @from to before @to. */
static void decode(u32 left, u32 from, u32 to)
{
	struct verify_insn in;
	u8 first = any;
	u32 i;

	if (first < from || first >= to)
		return;
	for (i = 0; i < MOST; i++)
		bytes[i] = any;
	bytes[MOST - left] = first;
	if (verify_decode(bytes + MOST - left, left, &in)) {
		/*@ assert in.index < 16 || in.index == NO_INDEX; */
	}
	if (left >= 4)
		verify_landing(bytes + MOST - left);
}

/* Rows are found by their first byte: Eva must know which rows are possible. */
int main(void)
{
	u32 left, most, from, to;

	for (from = 0; from <= 0xff; from = to) {
		for (to = from + 1; to <= 0xff && !patterns[from].n && !patterns[to].n;)
			to++;
		/* Without a row it reads 16 bytes. */
		most = patterns[from].n ? MOST : 17;
		for (left = 1; left <= most; left++)
			decode(left, from, to);
	}
	return 0;
}
