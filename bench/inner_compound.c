// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The loops of inner.def as compounds: compiled by cosy-cc. */
#include <cosy.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inner_compound.h"

#define CALL(result, name, ...)	result = syscall(SYS_##name, ##__VA_ARGS__)
#define PROBE(name, prepare, calls)						\
	COSY_FUNCTION static long compound_##name(long count, long a, long b, long c, \
						  long d, long p, long q)	\
	{									\
		long x = 0, r = 0;						\
										\
		(void)a, (void)b, (void)c, (void)d, (void)p, (void)q, (void)x;	\
		while (count--) {						\
			calls;							\
		}								\
		return r < 0 ? -errno : r;					\
	}
#include "inner.def"

long (*const inner_compounds[])(long count, long a, long b, long c, long d, long p, long q) = {
#define CALL(result, name, ...)
#define PROBE(name, prepare, calls)	compound_##name,
#include "inner.def"
	compound_empty,
};
