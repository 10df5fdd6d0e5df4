// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* See kernel/run.h: runs in a process. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "syscalls_nr.h"
#include "sys.h"
#include "user.h"

#define WAIT_NS		1000000UL

/* kernel/stack.S */
long stack_on(long (*fn)(void *), void *arg, void *top, void **home);
void stack_abandon(long ret, void *home) __attribute__((noreturn));

struct call_entry {
	short nr, flags;
};

static const struct call_entry calls[] = {
#define SYSCALL(name, kinds, flags)	{ __NR_##name, flags },
#include "syscalls.def"
};

/* -- Time -------------------------------------------------------------------- */

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
 * the one counts who else had the CPU, the other the system calls.
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

static void check_wall_clock(struct run_own *own, unsigned long now)
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
	struct run_own *own = run_own(run);
	unsigned long now = sys_now(CLOCK_MONOTONIC);

	check_time(own, time_used(own, now));
	check_wall_clock(own, now);
}

/* Signals are handled when they come, in the middle of the run. */
int run_pending(struct run *run)
{
	(void)run;
	return 0;
}

/* -- Runs -------------------------------------------------------------------- */

/* What the last run has left is no concern of this one. */
static void begin_anew(struct run *run)
{
	if (run_doom_passes(run->doom))
		run->doom = 0;
	run->error_len = 0;
	run->error[0] = '\0';
}

long run_script(struct run *run, long (*fn)(void *arg), void *arg, void *stack)
{
	struct run_own *own = run_own(run);
	long ret;

	begin_anew(run);
	usermem_forget(run);
	run->deadline = run->time + run->time_limit;
	own->start = run->time;
	own->cpu_seen = false;
	own->waited = 0;
	pthread_getcpuclockid(pthread_self(), &own->cpu);
	run_enter(run);
	own->wall = own->entered;
	clock_add(own);
	if (stack) {
		ret = stack_on(fn, arg, stack, &own->home);
	} else {
		own->home = NULL;
		ret = fn(arg);
	}
	clock_del(own);
	run_leave(run);
	frames_end_run(own->ports, ret >= 0 && !run->doom);
	return ret;
}

void run_abandon(struct run *run, long ret)
{
	stack_abandon(ret, run_own(run)->home);
}

/* -- System calls ------------------------------------------------------------ */

/* After these, pages may be gone or have become read-only. */
static bool call_unmaps(short nr)
{
	switch (nr) {
	case __NR_mmap:
	case __NR_munmap:
	case __NR_mremap:
	case __NR_mprotect:
	case __NR_pkey_mprotect:
	case __NR_pkey_free:
	case __NR_shmat:
	case __NR_shmdt:
	case __NR_madvise:
	case __NR_process_madvise:
	case __NR_remap_file_pages:
	case __NR_brk:
	case __NR_truncate:
	case __NR_ftruncate:
	case __NR_fallocate:
		return true;
	}
	return false;
}

/* What the module returns to a script that aims ioctl(2) at a script. */
static bool call_nests(const struct call_entry *entry, const long *args)
{
	struct script *script;

	if (!(entry->flags & SC_IOCTL) || _IOC_TYPE(args[1]) != SYSCRIPT_IOC_MAGIC)
		return false;
	script = user_fd_get(args[0]);
	if (script)
		user_fd_put(script);
	return script;
}

static long plain_syscall(struct run *run, long nr, const long *args, bool waits)
{
	struct run_own *own = run_own(run);
	unsigned long left = run_leave(run);
	long ret;

	ret = sys_call6(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (call_unmaps(nr))
		usermem_forget(run);
	run_enter(run);
	/* Who has worked for that long has mostly waited. */
	if (waits && own->entered - left > WAIT_NS)
		__atomic_store_n(&own->waited, own->waited + own->entered - left,
				 __ATOMIC_RELAXED);
	check_wall_clock(own, own->entered);
	return ret;
}

long run_plain_syscall(struct run *run, long nr, const long *args)
{
	run->syscalls++;
	return plain_syscall(run, nr, args, true);
}

long run_syscall(struct run *run, unsigned int index, const long *args)
{
	const struct call_entry *entry = &calls[index];
	long ret = -EDEADLK;

	run->syscalls++;
	if (!call_nests(entry, args))
		ret = plain_syscall(run, entry->nr, args, entry->flags & SC_WAITS);
	if (unlikely(run->doom) && run->engine->end)
		run->engine->end(run->vm);
	return ret;
}

enum gate_index {
#define SYSCALL(name, kinds, flags)	GATE_##name,
#include "syscalls.def"
};

#define SYSCALL(name, kinds, flags)						\
static long gate_##name(struct run *run, long a, long b, long c, long d, long e, \
			long f)							\
{										\
	const long args[6] = { a, b, c, d, e, f };				\
										\
	return run_syscall(run, GATE_##name, args);					\
}
#include "syscalls.def"

run_gate *const run_gates[] = {
#define SYSCALL(name, kinds, flags)	gate_##name,
#include "syscalls.def"
};

/* -- What a run holds -------------------------------------------------------- */

long run_scratch(struct run *run)
{
	long addr;

	if (run->scratch)
		return run->scratch;
	addr = sys_call(mmap, 0, SCRATCH_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (addr < 0 && addr > -(long)PAGE_SIZE)
		return addr;
	run->scratch = addr;
	return addr;
}

char *run_buffer(struct run *run)
{
	struct run_own *own = run_own(run);

	if (!own->buffer)
		own->buffer = malloc(RUN_BUFFER_SIZE);
	return own->buffer;
}

struct run *run_create(void)
{
	struct run_own *own = malloc(sizeof(*own));

	if (!own)
		return NULL;
	memset(own, 0, offsetof(struct run_own, run.output.text));
	return &own->run;
}

void run_release(struct run *run)
{
	struct run_own *own = run_own(run);

	if (run->scratch)
		sys_call(munmap, run->scratch, SCRATCH_SIZE);
	run->scratch = 0;
	free(own->buffer);
	own->buffer = NULL;
	frames_release(own->ports);
	own->ports = NULL;
}

void run_destroy(struct run *run)
{
	run_release(run);
	free(run_own(run));
}
