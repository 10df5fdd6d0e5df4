// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The engine's place side: what vm.h asks of the surroundings, in a process. */
#include <errno.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/random.h>

#include "../kernel/syscalls_nr.h"
#include "sys.h"
#include "user.h"

/* stack.S */

struct call_entry {
	short nr, flags;
};

static const struct call_entry calls[] = {
#define SYSCALL(name, kinds, flags)	{ __NR_##name, flags },
#include "../kernel/syscalls.def"
};

void user_vm_enter(struct script *script)
{
	__atomic_store_n(&script->clock.entered, sys_now(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
}

/*
 * Up to now, of all runs.  For the watchdog @entered is read again, so that no
 * stretch of time counts twice.
 */
static unsigned long clock_used(const struct script *script)
{
	unsigned long entered, used;

	do {
		entered = __atomic_load_n(&script->clock.entered, __ATOMIC_ACQUIRE);
		used = __atomic_load_n(&script->vm.stats.run_time, __ATOMIC_ACQUIRE);
	} while (entered != __atomic_load_n(&script->clock.entered, __ATOMIC_RELAXED));
	return entered ? used + sys_now(CLOCK_MONOTONIC) - entered : used;
}

/*
 * Both the time by the clock and the CPU time are at least what the run used:
 * the one counts who else had the CPU, the other the system calls.
 */
static void clock_check(struct script *script, unsigned long used)
{
	struct clock *clock = &script->clock;
	struct vm *vm = &script->vm;
	long cpu;

	if (vm->doom || used <= vm->deadline)
		return;
	if (__atomic_load_n(&clock->cpu_seen, __ATOMIC_ACQUIRE)) {
		cpu = (long)sys_now(CLOCK_THREAD_CPUTIME_ID) - clock->cpu_base;
		if (cpu < (long)vm->time_limit) {
			__atomic_store_n(&vm->deadline, used + vm->time_limit - (cpu > 0 ? cpu : 0),
					 __ATOMIC_RELAXED);
			return;
		}
	}
	vm->doom = -ETIME;
}

void user_vm_leave(struct script *script)
{
	unsigned long used = clock_used(script);

	__atomic_store_n(&script->clock.entered, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&script->vm.stats.run_time, used, __ATOMIC_RELEASE);
	clock_check(script, used);
}

/* By the watchdog, at each tick: is it time for port_poll()? */
bool user_vm_overdue(struct script *script)
{
	struct clock *clock = &script->clock;
	unsigned long used = clock_used(script);

	if (!clock->cpu_seen) {
		clock->cpu_base = (long)(sys_now(clock->cpu) - (used - clock->start));
		__atomic_store_n(&clock->cpu_seen, true, __ATOMIC_RELEASE);
	}
	return used > __atomic_load_n(&script->vm.deadline, __ATOMIC_RELAXED);
}

void port_poll(struct vm *vm)
{
	clock_check(script_of(vm), clock_used(script_of(vm)));
}

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

/* What the module answers to a script that aims ioctl(2) at a script. */
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

long user_vm_syscall(struct vm *vm, long nr, const long *args)
{
	struct script *script = script_of(vm);
	long ret;

	user_vm_leave(script);
	ret = sys_call6(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (call_unmaps(nr))
		user_copy_forget(script);
	user_vm_enter(script);
	return ret;
}

long port_syscall(struct vm *vm, unsigned int index, const long *args)
{
	const struct call_entry *entry = &calls[index];

	return call_nests(entry, args) ? -EDEADLK : user_vm_syscall(vm, entry->nr, args);
}

void port_panic(struct vm *vm)
{
	vm->doom = -ECANCELED;
	vm_escape(-ECANCELED, script_of(vm)->home);
	__builtin_unreachable();
}

void port_random(void *p, unsigned long n)
{
	char *to = p;
	long got;

	while (n) {
		got = sys_call(getrandom, to, n, 0);
		if (got == -EINTR)
			continue;
		/* Forbidden by a filter: hash seeds may be guessed then. */
		if (got <= 0) {
			*to = (char)(sys_now(CLOCK_MONOTONIC) >> (n & 7));
			got = 1;
		}
		to += got;
		n -= got;
	}
}

/* On the VM's stack, watched over: @fn, which returns 0 or -errno. */
static int on_stack(struct script *script, long (*fn)(void *), void *arg)
{
	struct clock *clock = &script->clock;
	int ret;

	user_copy_forget(script);
	script->vm.deadline = script->vm.stats.run_time + script->vm.time_limit;
	clock->start = script->vm.stats.run_time;
	clock->cpu_seen = false;
	pthread_getcpuclockid(pthread_self(), &clock->cpu);
	user_vm_enter(script);
	watchdog_add(script);
	ret = vm_on_stack(fn, arg, script->vm.stack + VM_STACK_SIZE, &script->home);
	watchdog_del(script);
	user_vm_leave(script);
	return ret;
}

int user_vm_open(struct script *script, struct vm_load *load)
{
	return on_stack(script, vm_open, load);
}

int user_vm_run(struct script *script, struct vm_run *run)
{
	return on_stack(script, vm_run, run);
}
