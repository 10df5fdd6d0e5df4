// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A single compound in its file: with several, a call must first select one. */
#include <cosy.h>

#include "inner_compound.h"

/* Too little to be a compound, if it did not depend on an argument. */
COSY_FUNCTION static long almost_nothing(long a)
{
	return a ^ 1;
}

long compound_empty(long count, long a, long b, long c, long d, long p, long q)
{
	long r = 0;

	(void)a, (void)b, (void)c, (void)d, (void)p, (void)q;
	while (count-- && !r)
		r = almost_nothing(1);
	return r;
}
