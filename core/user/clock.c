// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * LuaJIT's code does not read the clock.  While this process has LuaJIT scripts, a clock thread
 * checks their runs each millisecond, and interrupts those that are over a limit, so that they
 * check themselves.  It sleeps when nothing has run for a while: while scripts are called often,
 * no call has to wake it.
 *
 * Runs begin and end without a lock, because a signal handler may call a script: each run_priv has
 * an entry for life, whose state says whether it runs.  Entries are never freed, but reused.
 */
#include <linux/capability.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "lock.h"
#include "sys.h"
#include "user.h"

#define TICK_NS		1000000L
#define LINGER_TICKS	20
#define STACK_SIZE	(128UL << 10)

enum entry_state {
	IDLE,
	RUNNING,
	LOOKED_AT,		/* The clock thread looks at it: the run may not end meanwhile. */
	WAITED_FOR,		/* As LOOKED_AT, and the run waits to end. */
};

struct clock_entry {
	struct clock_entry *next;	/* never changes */
	struct run_priv *own;		/* NULL: the entry is free */
	unsigned long runner;		/* ticket_self() */
	unsigned int state;
};

enum thread_state { AWAKE, ASLEEP, ENDING };

static struct clock_entry *entries;	/* only grows; LOCK_CLOCK guards the rest */
static unsigned int thread_state;
static pthread_t thread;
static bool started;
static unsigned int users;

static void futex_wait(unsigned int *word, unsigned int value, const struct timespec *timeout)
{
	sys_call(futex, word, FUTEX_WAIT_PRIVATE, value, timeout);
}

static void futex_wake(unsigned int *word)
{
	sys_call(futex, word, FUTEX_WAKE_PRIVATE, 1);
}

static bool change(unsigned int *word, unsigned int from, unsigned int to)
{
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/* -- The thread --------------------------------------------------------------------- */

static void look_at(struct clock_entry *entry)
{
	struct run *run;

	if (!change(&entry->state, RUNNING, LOOKED_AT))
		return;
	run = &entry->own->run;
	if (run_is_overdue(entry->own) && run->vm)
		run->engine->interrupt(run->vm);
	if (__atomic_exchange_n(&entry->state, RUNNING, __ATOMIC_SEQ_CST) == WAITED_FOR)
		futex_wake(&entry->state);
}

static bool any_runs(void)
{
	struct clock_entry *entry = __atomic_load_n(&entries, __ATOMIC_SEQ_CST);

	while (entry && __atomic_load_n(&entry->state, __ATOMIC_SEQ_CST) == IDLE)
		entry = entry->next;
	return entry;
}

static void sleep_until_run(void)
{
	/*
	 * Either a beginning run sees ASLEEP and wakes this thread, or any_runs() sees the run,
	 * even in a new entry: tests/litmus/clock-sleep.litmus.
	 */
	if (!change(&thread_state, AWAKE, ASLEEP))
		return;
	if (any_runs())
		change(&thread_state, ASLEEP, AWAKE);
	else
		futex_wait(&thread_state, ASLEEP, NULL);
}

/*
 * A program that drops privileges later cannot drop those of this thread, so the thread does so
 * at once; but not under a seccomp filter, which may forbid the call, and whose installer has
 * dropped them before.  CAP_SETUID and CAP_SETGID stay: the C library changes the ids of all
 * threads, and aborts if only some of them may.
 */
static void give_up_rights(void)
{
	const unsigned int ids = CAP_TO_MASK(CAP_SETUID) | CAP_TO_MASK(CAP_SETGID);
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (sys_call(prctl, PR_GET_SECCOMP))
		return;
	if (!sys_call(capget, &header, caps)) {
		caps[0].permitted &= ids;
		caps[0].effective &= ids;
		caps[0].inheritable = 0;
		caps[1] = (struct __user_cap_data_struct){ 0 };
		sys_call(capset, &header, caps);
	}
	sys_call(prctl, PR_SET_NO_NEW_PRIVS, 1);
}

static void *watch(void *unused)
{
	const struct timespec tick = { 0, TICK_NS };
	unsigned int idle = 0, state;
	sigset_t all;

	/*
	 * Blocks the program's signals; not the C library's, by which it changes the ids of all
	 * threads.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	give_up_rights();
	while ((state = __atomic_load_n(&thread_state, __ATOMIC_SEQ_CST)) != ENDING) {
		if (state == ASLEEP || idle++ >= LINGER_TICKS)
			sleep_until_run();
		futex_wait(&thread_state, AWAKE, &tick);
		if (any_runs())
			idle = 0;
		for (struct clock_entry *entry = __atomic_load_n(&entries, __ATOMIC_ACQUIRE);
		     entry; entry = entry->next)
			look_at(entry);
	}
	return unused;
}

static int start_thread(void)
{
	pthread_attr_t attr;
	int err;

	thread_state = AWAKE;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	err = pthread_create(&thread, &attr, watch, NULL);
	pthread_attr_destroy(&attr);
	/* The small stack may be too small for the program's thread-local variables. */
	if (err)
		err = pthread_create(&thread, NULL, watch, NULL);
	if (!err) {
		pthread_setname_np(thread, "syscript");
		started = true;
	}
	return -err;
}

static void end_thread(void)
{
	__atomic_store_n(&thread_state, ENDING, __ATOMIC_SEQ_CST);
	futex_wake(&thread_state);
	pthread_join(thread, NULL);
	started = false;
}

int clock_get(void)
{
	int err;

	lock_take(LOCK_CLOCK);
	err = started ? 0 : start_thread();
	if (!err)
		users++;
	lock_give(LOCK_CLOCK);
	return err;
}

void clock_put(void)
{
	lock_take(LOCK_CLOCK);
	if (!--users && started)
		end_thread();
	lock_give(LOCK_CLOCK);
}

/* -- Runs --------------------------------------------------------------------------- */

bool clock_add(struct run_priv *own)
{
	struct clock_entry *entry;

	lock_take(LOCK_CLOCK);
	for (entry = entries; entry && entry->own; entry = entry->next)
		;
	if (entry) {
		entry->own = own;
	} else {
		entry = malloc(sizeof(*entry));
		if (entry) {
			*entry = (struct clock_entry){ .next = entries, .own = own };
			__atomic_store_n(&entries, entry, __ATOMIC_SEQ_CST);
		}
	}
	own->clock = entry;
	lock_give(LOCK_CLOCK);
	return entry;
}

void clock_del(struct run_priv *own)
{
	clock_leave(own);
	lock_take(LOCK_CLOCK);
	own->clock->own = NULL;
	lock_give(LOCK_CLOCK);
}

void clock_enter(struct run_priv *own)
{
	own->clock->runner = ticket_self();
	__atomic_store_n(&own->clock->state, RUNNING, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&thread_state, __ATOMIC_SEQ_CST) == ASLEEP &&
	    change(&thread_state, ASLEEP, AWAKE))
		futex_wake(&thread_state);
}

void clock_leave(struct run_priv *own)
{
	unsigned int *state = &own->clock->state;

	while (!change(state, RUNNING, IDLE)) {
		if (__atomic_load_n(state, __ATOMIC_SEQ_CST) == IDLE)
			return;
		change(state, LOOKED_AT, WAITED_FOR);
		futex_wait(state, WAITED_FOR, NULL);
	}
}

/*
 * The child has neither the clock thread nor the runs of other threads. A run of the forking
 * thread goes on if a signal handler forked.
 */
void clock_fork_child(void)
{
	started = false;
	for (struct clock_entry *entry = entries; entry; entry = entry->next)
		if (entry->state != IDLE)
			entry->state = entry->runner == ticket_self() ? RUNNING : IDLE;
}
