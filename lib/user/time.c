// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The time of runs in a process: what they have used, and whether that is too much. */
#include <errno.h>

#include "sys.h"
#include "user.h"

void run_enter(struct run *run)
{
	__atomic_store_n(&run_own(run)->entered, sys_now(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
}

/*
 * Up to now, of all runs.  For the clock thread @entered is read again, so that
 * no time counts twice.
 */
static unsigned long time_used(const struct run_own *own, unsigned long now)
{
	unsigned long entered, used;

	do {
		entered = __atomic_load_n(&own->entered, __ATOMIC_ACQUIRE);
		used = __atomic_load_n(&own->run.time, __ATOMIC_ACQUIRE);
	} while (entered != __atomic_load_n(&own->entered, __ATOMIC_RELAXED));
	return entered && now > entered ? used + now - entered : used;
}

/*
 * Both the time by the clock and the CPU time are at least what the run used:
 * the one includes others' use of the CPU, the other includes the system calls.
 */
static void check_time(struct run_own *own, unsigned long used)
{
	struct run *run = &own->run;
	long cpu;

	if (run->doom || used <= run->deadline)
		return;
	if (__atomic_load_n(&own->cpu_seen, __ATOMIC_ACQUIRE)) {
		cpu = (long)sys_now(CLOCK_THREAD_CPUTIME_ID) - own->cpu_base;
		if (cpu < (long)run->time_limit) {
			__atomic_store_n(&run->deadline,
					 used + run->time_limit - (cpu > 0 ? cpu : 0),
					 __ATOMIC_RELAXED);
			return;
		}
	}
	run_doom(run, -ETIME);
}

static bool is_over_wall_clock(const struct run_own *own, unsigned long now)
{
	unsigned long waited = __atomic_load_n(&own->waited, __ATOMIC_RELAXED);

	return own->run.wall_limit != SYSCRIPT_NO_LIMIT &&
	       now - own->wall > waited + own->run.wall_limit;
}

void run_check_wall(struct run_own *own, unsigned long now)
{
	if (is_over_wall_clock(own, now))
		run_doom(&own->run, -ETIMEDOUT);
}

unsigned long run_leave(struct run *run)
{
	struct run_own *own = run_own(run);
	unsigned long now = sys_now(CLOCK_MONOTONIC), used = time_used(own, now);

	__atomic_store_n(&own->entered, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&run->time, used, __ATOMIC_RELEASE);
	check_time(own, used);
	return now;
}

bool run_is_overdue(struct run_own *own)
{
	unsigned long now = sys_now(CLOCK_MONOTONIC), used = time_used(own, now);

	if (!own->cpu_seen) {
		own->cpu_base = (long)(sys_now(own->cpu) - (used - own->start));
		__atomic_store_n(&own->cpu_seen, true, __ATOMIC_RELEASE);
	}
	return used > __atomic_load_n(&own->run.deadline, __ATOMIC_RELAXED) ||
	       (now > own->wall && is_over_wall_clock(own, now));
}

void run_poll(struct run *run)
{
	unsigned long now = run_leave(run);

	run_check_wall(run_own(run), now);
	run_enter(run);
}
