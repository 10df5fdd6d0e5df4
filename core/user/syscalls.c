// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements the system calls of core/run.h in a process. */
#include <errno.h>
#include <sys/ioctl.h>

#include "syscalls_nr.h"
#include "sys.h"
#include "user.h"

#define WAIT_NS		1000000UL

struct call_entry {
	short nr, flags;
};

static const struct call_entry calls[] = {
#define SYSCALL(name, kinds, flags)	{ __NR_##name, flags },
#include "syscalls.def"
};

/* These calls may unmap pages or make them read-only. */
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

/* As in the module: a script's ioctl(2) on a script is refused. */
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
	struct run_priv *own = run_priv(run);
	unsigned long left = run_leave(run);
	long ret;

	ret = arch_call(nr, args);
	if (call_unmaps(nr))
		usermem_forget(run);
	run_enter(run);
	/* A call this long mostly waited. */
	if (waits && own->entered - left > WAIT_NS)
		__atomic_store_n(&own->waited, own->waited + own->entered - left,
				 __ATOMIC_RELAXED);
	run_check_wall(own, own->entered);
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
	if (run_stop_passes(run->stop_reason))
		ret = -EINTR;
	else if (!call_nests(entry, args))
		ret = plain_syscall(run, entry->nr, args, entry->flags & SC_WAITS);
	if (entry->flags & SC_INT)
		ret = (int)ret;
	if (unlikely(run->stop_reason) && run->engine->end)
		run->engine->end(run->vm);
	return ret;
}

long run_as_syscall(struct run *run, long (*fn)(void *arg), void *arg, int waits)
{
	long ret;

	(void)waits;
	run->syscalls++;
	run_leave(run);
	ret = fn(arg);
	run_enter(run);
	return ret;
}

enum thunk_index {
#define SYSCALL(name, kinds, flags)	THUNK_##name,
#include "syscalls.def"
};

#define SYSCALL(name, kinds, flags)						\
static long thunk_##name(struct run *run, long a, long b, long c, long d, long e, \
			long f)							\
{										\
	const long args[6] = { a, b, c, d, e, f };				\
										\
	return run_syscall(run, THUNK_##name, args);					\
}
#include "syscalls.def"

run_thunk *const run_thunks[] = {
#define SYSCALL(name, kinds, flags)	thunk_##name,
#include "syscalls.def"
};
