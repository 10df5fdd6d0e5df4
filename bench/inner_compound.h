/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* In the order of inner.def, and then the empty one: the calls, @count times. */
#ifndef INNER_COMPOUND_H
#define INNER_COMPOUND_H

extern long (*const inner_compounds[])(long count, long a, long b, long c, long d, long p,
				       long q);

/* The empty one. */
long compound_empty(long count, long a, long b, long c, long d, long p, long q);

#endif /* INNER_COMPOUND_H */
