/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The library's locks.  A thread must not meet a lock that is held where its holder cannot
 * go on: in a signal handler that has interrupted the holder, and in a child of fork(2),
 * which has no other threads.  So a thread blocks all signals while it holds a lock, and
 * one fork handler takes all locks before a fork.  Therefore every lock of the library is
 * in this list.
 */
#ifndef LIB_LOCK_H
#define LIB_LOCK_H

#include <stdbool.h>

/* In their nesting order. */
enum lock_id {
	LOCK_COSY,		/* cosy/host.c */
	LOCK_MOVE,		/* fallback.c: held while a script is registered again */
	LOCK_MAKING,		/* lua_shared_image.c: held while a base is made */
	LOCK_BASES,
	LOCK_KEPT,		/* lua_kept.c */
	LOCK_FALLBACKS,
	LOCK_FDS,		/* user/fd.c */
	LOCK_CLOCK,		/* user/clock.c */
	LOCK_ARENAS,
	LOCK_LIMITS,
	LOCK_PROGRAMS,		/* program.c: vm_lock */
	LOCK_HEAP,		/* cosy/heap.c */
	LOCKS
};

void lock_take(enum lock_id id);
void lock_give(enum lock_id id);
/* Does this thread hold it? Then this is a signal handler that ran within signals_open(). */
bool lock_is_mine(enum lock_id id);

/* Blocks all signals until the matching signals_unblock(); nests. */
void signals_block(void);
void signals_unblock(void);

/* This thread's number in the kernel, which is asked for once. */
extern __thread int thread_number __attribute__((tls_model("initial-exec")));
int thread_ask_id(void);

static inline int thread_id(void)
{
	return thread_number ?: thread_ask_id();
}

/*
 * For script code that runs while a library function has signals blocked: restores the program's
 * signal mask. signals_shut() gets the result of signals_open().
 */
unsigned int signals_open(void);
void signals_shut(unsigned int depth);

#endif /* LIB_LOCK_H */
