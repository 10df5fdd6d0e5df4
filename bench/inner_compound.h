/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Make the calls @count times; in the order of inner.def, then the empty one. */
#ifndef INNER_COMPOUND_H
#define INNER_COMPOUND_H

extern long (*const inner_compounds[])(long count, long a, long b, long c, long d, long p,
				       long q);

/* The empty one. */
long compound_empty(long count, long a, long b, long c, long d, long p, long q);

#endif /* INNER_COMPOUND_H */
