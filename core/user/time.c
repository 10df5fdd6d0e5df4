// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The time that runs in a process have used, and their time limits.
 *
 * Most stretches of script code between two system calls are short. The monotonic clock, which is
 * cheap to read, measures them, but it goes on while other threads have the CPU. So a long
 * stretch counts only as far as the thread's CPU clock has advanced, and no run is ended at a
 * limit that its thread's CPU time is below.
 */
#include <errno.h>

#include "sys.h"
#include "user.h"

/* A longer stretch may have been interrupted by other threads. */
#define LONG_NS		1000000UL

static unsigned long cpu_now(void)
{
	return sys_now(CLOCK_THREAD_CPUTIME_ID);
}

/* Notes a reading of the CPU clock, when @time had been counted. */
static void set_cpu(struct run_priv *own, unsigned long cpu, unsigned long time)
{
	own->cpu_time = time;
	/* The clock thread reads it as well. */
	__atomic_store_n(&own->cpu, cpu, __ATOMIC_RELAXED);
}

/*
 * The CPU clock is read at the start unless the last run was short. A first long stretch without
 * that reading has nothing to compare with.
 */
void run_begin_time(struct run *run)
{
	struct run_priv *own = run_priv(run);
	unsigned long now = sys_now(CLOCK_MONOTONIC);

	own->start = run->time;
	run->deadline = run->time + run->time_limit;
	own->waited = 0;
	own->wall = own->left = now;
	set_cpu(own, own->is_short ? 0 : cpu_now(), run->time);
	own->cpu_start = own->cpu;
	__atomic_store_n(&own->entered, now, __ATOMIC_RELAXED);
}

/*
 * Short stretches may each have been interrupted for a short time, too: a run counts no more than
 * the CPU time since its start.
 */
static void limit_to_cpu_time(struct run *run)
{
	struct run_priv *own = run_priv(run);
	unsigned long most;

	if (!own->cpu_start)
		return;
	most = own->start + cpu_now() - own->cpu_start;
	if (run->time > most)
		__atomic_store_n(&run->time, most, __ATOMIC_RELEASE);
}

void run_end_time(struct run *run)
{
	struct run_priv *own = run_priv(run);

	run_leave(run);
	own->is_short = run->time - own->start <= LONG_NS;
	if (!own->is_short)
		limit_to_cpu_time(run);
}

/* After a long system call the CPU clock is read again: that time is not the script's. */
void run_enter(struct run *run)
{
	struct run_priv *own = run_priv(run);
	unsigned long now = sys_now(CLOCK_MONOTONIC);

	if (own->cpu && now - own->left > LONG_NS)
		set_cpu(own, cpu_now(), run->time);
	__atomic_store_n(&own->entered, now, __ATOMIC_RELAXED);
}

/*
 * How much of a stretch of @elapsed ns this thread had the CPU: at most the CPU time since the
 * last reading, less the stretches counted since.
 */
static unsigned long had_cpu(struct run_priv *own, unsigned long elapsed)
{
	unsigned long time = own->run.time, cpu, used = LONG_NS, counted;

	if (elapsed <= LONG_NS)
		return elapsed;
	cpu = cpu_now();
	if (own->cpu) {
		used = cpu - own->cpu;
		counted = time - own->cpu_time;
		used = used > counted ? used - counted : 0;
	}
	if (used > elapsed)
		used = elapsed;
	set_cpu(own, cpu, time + used);
	return used;
}

static void check_time(struct run *run)
{
	if (run->stop_reason || run->time <= run->deadline)
		return;
	limit_to_cpu_time(run);
	if (run->time > run->deadline)
		run_stop(run, -ETIME);
}

static bool is_over_wall_clock(const struct run_priv *own, unsigned long now)
{
	unsigned long waited = __atomic_load_n(&own->waited, __ATOMIC_RELAXED);

	return own->run.wall_limit != SYSCRIPT_NO_LIMIT &&
	       now - own->wall > waited + own->run.wall_limit;
}

void run_check_wall(struct run_priv *own, unsigned long now)
{
	if (is_over_wall_clock(own, now))
		run_stop(&own->run, -ETIMEDOUT);
}

unsigned long run_leave(struct run *run)
{
	struct run_priv *own = run_priv(run);
	unsigned long now = sys_now(CLOCK_MONOTONIC), entered = own->entered, used;

	__atomic_store_n(&own->entered, 0, __ATOMIC_RELAXED);
	own->left = now;
	used = run->time + (now > entered ? had_cpu(own, now - entered) : 0);
	__atomic_store_n(&run->time, used, __ATOMIC_RELEASE);
	if (!own->cpu_start && used - own->start > LONG_NS) {
		set_cpu(own, cpu_now(), used);
		own->cpu_start = own->cpu - (used - own->start);
	}
	check_time(run);
	return now;
}

/*
 * For the clock thread, which only asks a run to check itself: true if the run would be over a
 * limit had its thread had the CPU all the time, or is in a long stretch without a reading of the
 * CPU clock.
 */
bool run_is_overdue(struct run_priv *own)
{
	unsigned long now = sys_now(CLOCK_MONOTONIC), entered, used;

	/*
	 * No stretch is counted both in @used and since @entered
	 * (tests/litmus/clock-overdue.litmus). A stretch that has just ended may be in neither,
	 * until the next tick.
	 */
	do {
		entered = __atomic_load_n(&own->entered, __ATOMIC_ACQUIRE);
		used = __atomic_load_n(&own->run.time, __ATOMIC_ACQUIRE);
	} while (entered != __atomic_load_n(&own->entered, __ATOMIC_RELAXED));
	if (entered && now > entered) {
		used += now - entered;
		if (now - entered > LONG_NS && !__atomic_load_n(&own->cpu, __ATOMIC_RELAXED))
			return true;
	}
	return used > own->run.deadline || (now > own->wall && is_over_wall_clock(own, now));
}

void run_poll(struct run *run)
{
	unsigned long now = run_leave(run);

	run_check_wall(run_priv(run), now);
	run_enter(run);
}
