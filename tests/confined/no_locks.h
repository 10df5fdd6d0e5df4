/* SPDX-License-Identifier: GPL-2.0 */
/* Empty locks, for single-threaded programs that link only arena.c of the library. */
#include "user/lock.h"

void lock_take(enum lock_id id)
{
	(void)id;
}

void lock_give(enum lock_id id)
{
	(void)id;
}
