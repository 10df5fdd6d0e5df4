/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pairs of functions that acquire and release a resource: see paths.cc.
 *
 *	pair mutex_lock(argument 1), mutex_trylock(argument 1) if nonzero:
 *		mutex_unlock(argument 1);
 */
#ifndef KGCC_PAIRS_H
#define KGCC_PAIRS_H

#include "check.h"

enum outcome { OUTCOME_ANY, OUTCOME_ZERO, OUTCOME_NONZERO };

/* The object of a call: an argument (from 1), the result, or none. */
enum { OBJECT_NONE = -1, OBJECT_RESULT = 0 };

struct half {
	const char *name;		/* may have * and ? */
	int object;
	enum outcome outcome;		/* of a taker: results that mean success */
};

struct pair {
	auto_vec<struct half> takers, givers;
};

extern auto_vec<struct pair *> pairs;

#endif
