// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements lock.h: holders block all signals, and one fork handler takes all locks. */
#include <pthread.h>
#include <signal.h>

#include "lock.h"
#include "sys.h"
#include "ticket.h"
#include "user/user.h"

/**
 * struct lock - a lock
 * @holder: ticket_self() of its holder, or 0
 */
static struct lock {
	pthread_mutex_t mutex;
	unsigned long holder;
} locks[LOCKS] = { [0 ... LOCKS - 1] = { PTHREAD_MUTEX_INITIALIZER, 0 } };

/*
 * @mask is the program's signal mask while @depth is not 0. The TLS model is for signal handlers:
 * the first access allocates no memory.
 */
static __thread struct {
	unsigned int depth;
	unsigned long mask;
} blocked __attribute__((tls_model("initial-exec")));

/*
 * By the system call, because libc's function leaves out its own signals, by which it cancels
 * threads. Returns the old mask.
 */
static unsigned long set_mask(unsigned long mask)
{
	unsigned long old = 0;

	sys_call(rt_sigprocmask, SIG_SETMASK, &mask, &old, sizeof(mask));
	return old;
}

void signals_block(void)
{
	unsigned long mask;

	if (!blocked.depth) {
		mask = set_mask(~0UL);
		blocked.mask = mask;
	}
	blocked.depth++;
}

void signals_unblock(void)
{
	if (!--blocked.depth)
		set_mask(blocked.mask);
}

unsigned int signals_open(void)
{
	unsigned int depth = blocked.depth;

	if (depth) {
		blocked.depth = 0;
		set_mask(blocked.mask);
	}
	return depth;
}

void signals_shut(unsigned int depth)
{
	unsigned long mask;

	if (!depth)
		return;
	mask = set_mask(~0UL);
	blocked.mask = mask;
	blocked.depth = depth;
}

__thread int thread_number;
static int own_pid;

/*
 * A child of vfork(2) shares its parent's variables, so it must not cache its own thread number
 * there.
 */
int thread_ask_id(void)
{
	if (sys_call(getpid) != own_pid)
		return own_pid;
	return thread_number = sys_call(gettid);
}

void lock_take(enum lock_id id)
{
	signals_block();
	pthread_mutex_lock(&locks[id].mutex);
	__atomic_store_n(&locks[id].holder, ticket_self(), __ATOMIC_RELAXED);
}

void lock_give(enum lock_id id)
{
	__atomic_store_n(&locks[id].holder, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&locks[id].mutex);
	signals_unblock();
}

bool lock_is_mine(enum lock_id id)
{
	return __atomic_load_n(&locks[id].holder, __ATOMIC_RELAXED) == ticket_self();
}

/* -- fork(2) ------------------------------------------------------------------------ */

/* Bit i: lock i was held by the forking thread itself, in a handler within signals_open(). */
static unsigned int kept;

static void before_fork(void)
{
	unsigned int mine = 0;

	signals_block();
	for (int id = 0; id < LOCKS; id++) {
		if (lock_is_mine(id))
			mine |= 1U << id;
		else
			lock_take(id);
	}
	kept = mine;
}

static void give_all(void)
{
	unsigned int mine = kept;

	for (int id = LOCKS - 1; id >= 0; id--)
		if (!(mine >> id & 1))
			lock_give(id);
}

static void in_parent(void)
{
	give_all();
	signals_unblock();
}

static void in_child(void)
{
	give_all();
	user_fork_child();
	thread_number = 0;
	own_pid = sys_call(getpid);
	signals_unblock();
}

/*
 * A constructor: the fork handler has to be registered before those of the program or of
 * libraries, which may free what it needs.
 */
__attribute__((constructor))
static void follow_forks(void)
{
	own_pid = sys_call(getpid);
	pthread_atfork(before_fork, in_parent, in_child);
}
