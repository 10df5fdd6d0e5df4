// SPDX-License-Identifier: GPL-2.0
/*
 * The LuaJIT engine, kernel side: what vm.h asks of its place, and the
 * operations of engine.h.
 *
 * VM mode is entered and left in vm_mode_begin() and vm_mode_end(), nowhere
 * else.  In it the FPU is ours, preemption is off and we are on the VM's own
 * stack.  The task's stack stays as it was at the entry, so code that may
 * sleep runs there: vm_off_stack().  No XMM register is preserved across a
 * call, so compiled code does not notice.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <asm/sync_core.h>

#include "../compat.h"
#include "../engine.h"
#include "../mmsg.h"
#include "../syscalls.h"
#include "cache.h"
#include "clock.h"
#include "engine_fs.h"
#include "fpu.h"
#include "pages.h"
#include "scratch.h"
#include "vm.h"
#include "vm_fs.h"

/* struct vm comes last: its output buffer is not zeroed. */
struct engine_vm {
	void *home;			/* the task's stack, see vm_on_stack() */
	struct file *scratch;		/* of vm.scratch, or NULL */
	char *batch;			/* see engine_batch() */
	struct fpu_regs fpu;		/* of whoever called */
	u64 preempt_max;
	u32 random;			/* see sampled() */
	bool sampled;
	u64 hidden;			/* ns of run time, from samples */
	int cpu;			/* whose instruction fetch is in sync */
	DECLARE_BITMAP(heap, PAGES_HEAP);
	DECLARE_BITMAP(mcode, PAGES_MCODE);
	struct vm vm;
};

#define SAMPLED_ONE_IN	16

#define engine_vm_of(v)	container_of(v, struct engine_vm, vm)

/* -- VM mode --------------------------------------------------------------- */

static __always_inline void vm_mode_begin(struct engine_vm *ev, u64 since)
{
	fpu_begin(&ev->fpu);
	if (unlikely(ev->cpu != smp_processor_id())) {
		/* Machine code may have changed since this CPU fetched it. */
		sync_core();
		ev->cpu = smp_processor_id();
	}
	clock_watch(&ev->vm, since);
}

static __always_inline void vm_mode_end(struct engine_vm *ev)
{
	u64 ran = clock_unwatch();

	fpu_end(&ev->fpu);
	if (likely(!ran))
		return;
	if (unlikely(ran > ev->preempt_max))
		ev->preempt_max = ran;
	ev->vm.stats.run_time += ran;
	if (ev->sampled) {
		/* What lasts longer, the ticks see well enough. */
		ev->hidden += min_t(u64, ran, NSEC_PER_MSEC) * SAMPLED_ONE_IN;
		ev->sampled = false;
	}
}

static __always_inline long vm_mode(struct engine_vm *ev, long (*fn)(void *),
				    void *arg)
{
	struct vm *vm = &ev->vm;
	long ret;

	vm->deadline = vm->stats.run_time + vm->time_limit;
	ev->sampled = false;
	ev->hidden = 0;
	vm_mode_begin(ev, 0);
	ret = vm_on_stack(fn, arg, vm->stack + VM_STACK_SIZE, &ev->home);
	vm_mode_end(ev);
	return ret;
}

/*
 * Ticks look at VM mode at times that a script can foresee, and it could be
 * outside whenever one comes.  So one stretch in sixteen is timed as well, and
 * nobody knows which.  An estimate from so few is rough: it ends a run at four
 * times the limit, where the ticks have not.
 */
static __always_inline u64 sampled(struct engine_vm *ev)
{
	ev->random ^= ev->random << 13;
	ev->random ^= ev->random >> 17;
	ev->random ^= ev->random << 5;
	if (likely(ev->random % SAMPLED_ONE_IN))
		return 0;
	ev->sampled = true;
	return clock_cycles();
}

static __always_inline bool over_time(const struct engine_vm *ev)
{
	return ev->vm.stats.run_time > ev->vm.deadline ||
	       ev->hidden > 4 * (u64)ev->vm.time_limit;
}

/* Stands in for @fn where it may sleep: on the task's stack, preemptible. */
struct outside {
	struct engine_vm *ev;
	long (*fn)(struct outside *out);
	const void *from;
	void *to;
	unsigned long addr, n;
	const long *args;
	long (*other)(void *arg);	/* engine_leave() */
};

static void watched(struct vm *vm)
{
	if (!vm->doom)
		vm->doom = -EOPNOTSUPP;
}

static long syscall_outside(struct outside *out)
{
	long ret = 0;

	if (unlikely(syscalls_call(out->n, out->args, &ret)))
		watched(&out->ev->vm);
	return ret;
}

/* Called by vm_off_stack(). */
long engine_outside(void *arg);
long engine_outside(void *arg)
{
	struct outside *out = arg;
	struct engine_vm *ev = out->ev;
	long ret;

	vm_mode_end(ev);
	if (unlikely(over_time(ev)) && !ev->vm.doom)
		ev->vm.doom = -ETIME;
	ret = INDIRECT_CALL_1(out->fn, syscall_outside, out);
	/* The clock only looks at VM mode, and the call may have been short. */
	if (unlikely(need_resched()))
		cond_resched();
	if (unlikely(fatal_signal_pending(current)))
		ev->vm.doom = -ECANCELED;
	vm_mode_begin(ev, sampled(ev));
	return ret;
}

static long vm_outside(struct outside *out)
{
	return vm_off_stack(engine_outside, out, out->ev->home);
}

static long other_outside(struct outside *out)
{
	struct syscalls_frame frame;

	if (unlikely(!syscalls_enter(&frame))) {
		watched(&out->ev->vm);
		return -EOPNOTSUPP;
	}
	return syscalls_leave(&frame, out->other(out->to));
}

long engine_leave(struct vm *vm, long (*fn)(void *arg), void *arg)
{
	struct outside out = {
		.ev = engine_vm_of(vm), .fn = other_outside,
		.other = fn, .to = arg,
	};

	return vm_outside(&out);
}

/* -- vm.h: time ------------------------------------------------------------ */

static long poll_outside(struct outside *out)
{
	return 0;
}

void port_poll(struct vm *vm)
{
	struct outside out = { .ev = engine_vm_of(vm), .fn = poll_outside };

	vm_outside(&out);
}

void port_panic(struct vm *vm)
{
	pr_err_once("a script's VM could not go on and was ended\n");
	vm->doom = -ECANCELED;
	vm_escape(-ECANCELED, engine_vm_of(vm)->home);
	BUG();
}

/*
 * One seed for all VMs: they are copies.  It makes the string hash unforeseeable
 * for whoever chooses the strings; a script can only slow itself down.
 */
static u8 seed[32] __ro_after_init;
unsigned long port_pointer_key __ro_after_init;

void port_random(void *p, unsigned long n)
{
	memcpy(p, seed, min_t(unsigned long, n, sizeof(seed)));
}

/* -- vm.h: memory ---------------------------------------------------------- */

void *port_pages(struct vm *vm, unsigned long size)
{
	return pages_get(&pages_heap, engine_vm_of(vm)->heap, size);
}

void port_free_pages(struct vm *vm, void *p, unsigned long size)
{
	pages_put(&pages_heap, engine_vm_of(vm)->heap, p, size);
}

void *port_mcode(struct vm *vm, unsigned long size)
{
	void *p;

	/* The first area is for everyone, more while there is plenty. */
	if (vm->stats.mcode && pages_scarce(&pages_mcode))
		return NULL;
	p = pages_get(&pages_mcode, engine_vm_of(vm)->mcode, size);
	if (p)
		vm->stats.mcode += size;
	return p;
}

void port_free_mcode(struct vm *vm, void *p, unsigned long size)
{
	vm->stats.mcode -= size;
	pages_put(&pages_mcode, engine_vm_of(vm)->mcode, p, size);
}

int port_mcode_protect(struct vm *vm, void *p, unsigned long size, int writable)
{
	if (!writable)
		sync_core();
	return 0;
}

/* -- vm.h: the process ----------------------------------------------------- */

static long copy_in_outside(struct outside *out)
{
	return copy_from_user(out->to, (void __user *)out->addr, out->n) ?
		-EFAULT : 0;
}

static long copy_out_outside(struct outside *out)
{
	return copy_to_user((void __user *)out->addr, out->from, out->n) ?
		-EFAULT : 0;
}

int port_copy_in(struct vm *vm, void *to, unsigned long from, unsigned long n)
{
	struct outside out = {
		.ev = engine_vm_of(vm), .fn = copy_in_outside,
		.to = to, .addr = from, .n = n,
	};
	unsigned long left;

	if (unlikely(!access_ok((void __user *)from, n)))
		return -EFAULT;
	barrier_nospec();
	/* Mostly the page is there, and that needs no way out. */
	pagefault_disable();
	left = __copy_from_user_inatomic(to, (void __user *)from, n);
	pagefault_enable();
	return likely(!left) ? 0 : vm_outside(&out);
}

int port_copy_out(struct vm *vm, unsigned long to, const void *from,
		  unsigned long n)
{
	struct outside out = {
		.ev = engine_vm_of(vm), .fn = copy_out_outside,
		.from = from, .addr = to, .n = n,
	};
	unsigned long left;

	if (unlikely(!access_ok((void __user *)to, n)))
		return -EFAULT;
	pagefault_disable();
	left = __copy_to_user_inatomic((void __user *)to, from, n);
	pagefault_enable();
	return likely(!left) ? 0 : vm_outside(&out);
}

/*
 * A scalar's access in place: a copy's calls take longer than the copy.  Where
 * it faults, the copy finds out why.
 */
int port_load(struct vm *vm, unsigned long long *v, unsigned long from,
	      unsigned int size)
{
	void __user *p = (void __user *)from;

	if (unlikely(!user_read_access_begin(p, size)))
		return -EFAULT;
	pagefault_disable();
	switch (size) {
	case 1: unsafe_get_user(*(u8 *)v, (u8 __user *)p, fault); break;
	case 2: unsafe_get_user(*(u16 *)v, (u16 __user *)p, fault); break;
	case 4: unsafe_get_user(*(u32 *)v, (u32 __user *)p, fault); break;
	case 8: unsafe_get_user(*(u64 *)v, (u64 __user *)p, fault); break;
	}
	pagefault_enable();
	user_read_access_end();
	return 0;
fault:
	pagefault_enable();
	user_read_access_end();
	return port_copy_in(vm, v, from, size);
}

int port_store(struct vm *vm, unsigned long to, const unsigned long long *v,
	       unsigned int size)
{
	void __user *p = (void __user *)to;

	if (unlikely(!user_write_access_begin(p, size)))
		return -EFAULT;
	pagefault_disable();
	switch (size) {
	case 1: unsafe_put_user(*(u8 *)v, (u8 __user *)p, fault); break;
	case 2: unsafe_put_user(*(u16 *)v, (u16 __user *)p, fault); break;
	case 4: unsafe_put_user(*(u32 *)v, (u32 __user *)p, fault); break;
	case 8: unsafe_put_user(*(u64 *)v, (u64 __user *)p, fault); break;
	}
	pagefault_enable();
	user_write_access_end();
	return 0;
fault:
	pagefault_enable();
	user_write_access_end();
	return port_copy_out(vm, to, v, size);
}

char *engine_batch(struct vm *vm)
{
	struct engine_vm *ev = engine_vm_of(vm);

	if (!ev->batch)
		ev->batch = kvmalloc(VM_BATCH_SIZE + VM_PATHS_SIZE,
				     GFP_KERNEL_ACCOUNT);
	return ev->batch;
}

static long scratch_outside(struct outside *out)
{
	return scratch_map(&out->ev->scratch);
}

long port_scratch(struct vm *vm)
{
	struct outside out = { .ev = engine_vm_of(vm), .fn = scratch_outside };

	return vm_outside(&out);
}

static noinline long slow_syscall(struct vm *vm, unsigned int index,
				  const long *args)
{
	struct outside out __uninitialized;

	out.ev = engine_vm_of(vm);
	out.fn = syscall_outside;
	out.n = index;
	out.args = args;

	return vm_outside(&out);
}

long port_syscall(struct vm *vm, unsigned int index, const long *args)
{
	long ret;

	if (syscalls_call_fast(index, args, &ret))
		return ret;
	return slow_syscall(vm, index, args);
}

static long mmsg_recv_outside(void *call)
{
	return mmsg_recv(call);
}

static long mmsg_send_outside(void *call)
{
	return mmsg_send(call);
}

long port_mmsg_recv(struct vm *vm, struct mmsg_call *call)
{
	return engine_leave(vm, mmsg_recv_outside, call);
}

long port_mmsg_send(struct vm *vm, struct mmsg_call *call)
{
	return engine_leave(vm, mmsg_send_outside, call);
}

/* -- engine.h -------------------------------------------------------------- */

static struct engine_vm *engine_vm_alloc(void)
{
	struct engine_vm *ev;

	ev = kvmalloc(sizeof(*ev), GFP_KERNEL_ACCOUNT);
	if (!ev)
		return NULL;
	memset(ev, 0, offsetof(struct engine_vm, vm.output));
	ev->cpu = -1;
	ev->random = get_random_u32() | 1;
	ev->vm.stack = stack_get();
	if (!ev->vm.stack) {
		kvfree(ev);
		return NULL;
	}
	return ev;
}

static void engine_destroy(struct engine_vm *ev)
{
	struct vm *vm = &ev->vm;

	kvfree(ev->batch);
	scratch_unmap(ev->scratch, vm->scratch);
	pages_put_all(&pages_mcode, ev->mcode);
	pages_put_all(&pages_heap, ev->heap);
	stack_put(vm->stack);
	kvfree(ev);
}

/* Loads the script, compiled before if it can be had. */
static int engine_load(struct engine_vm *ev, const char *source, size_t len)
{
	struct vm_load load = {
		.vm = &ev->vm, .source = source, .len = len,
		.check = ev->vm.flags & SYSCRIPT_CHECK,
	};
	struct cache_entry *entry = NULL;
	int ret;

	if (!load.check && len <= CACHE_SOURCE_MAX) {
		entry = cache_get(ev->vm.name, source, len);
		if (entry) {
			load.compiled = entry->compiled;
			load.compiled_len = entry->len;
		} else {
			load.keep_size = CACHE_COMPILED_MAX;
			load.keep = kvmalloc(load.keep_size,
					     GFP_KERNEL | __GFP_NOWARN);
		}
	}
	ret = vm_mode(ev, vm_open, &load);
	if (!ret && load.kept)
		cache_add(ev->vm.name, source, len, load.keep, load.kept);
	if (entry)
		cache_put(entry);
	kvfree(load.keep);
	return ret;
}

static struct engine_vm *engine_create(const char *source, size_t len,
				       const char *name, u32 flags,
				       const struct engine_limits *limits,
				       char *error, size_t error_len)
{
	struct engine_vm *ev = engine_vm_alloc();
	int ret;

	if (!ev)
		return ERR_PTR(-ENOMEM);
	ev->vm.memory_limit = limits->memory;
	ev->vm.time_limit = limits->time;
	ev->vm.name = name;
	ev->vm.flags = flags;
	ret = engine_load(ev, source, len);
	if (!ret)
		return ev;
	strscpy(error, ev->vm.error, error_len);
	engine_destroy(ev);
	return ERR_PTR(ret);
}

int luajit_call(struct engine_vm *ev, struct syscript_call *call)
{
	struct vm_run r = {
		.vm = &ev->vm, .nargs = call->nargs,
		.args = call->args, .results = call->results,
	};
	int ret = vm_mode(ev, vm_run, &r);

	call->nresults = r.nresults;
	return ret;
}

static const char *engine_error(struct engine_vm *ev)
{
	return ev->vm.error;
}

static size_t engine_output(struct engine_vm *ev, char *buf, size_t len)
{
	return vm_take_output(&ev->vm, buf, len);
}

static void engine_stats(struct engine_vm *ev, struct engine_stats *stats)
{
	const struct vm_stats *from = &ev->vm.stats;

	stats->memory = READ_ONCE(from->memory);
	stats->memory_peak = READ_ONCE(from->memory_peak);
	stats->mcode = READ_ONCE(from->mcode);
	stats->run_time = READ_ONCE(from->run_time);
	stats->syscalls = READ_ONCE(from->syscalls);
	stats->traces = READ_ONCE(from->traces);
	stats->preempt_max = READ_ONCE(ev->preempt_max);
}

/* What new VMs are copies of. */
static struct engine_vm *originals[2];

static int make_original(void)
{
	struct vm *pair[2];
	unsigned int i;
	int ret;

	get_random_bytes(seed, sizeof(seed));
	get_random_bytes(&port_pointer_key, sizeof(port_pointer_key));
	for (i = 0; i < 2; i++) {
		originals[i] = engine_vm_alloc();
		if (!originals[i])
			return -ENOMEM;
		pair[i] = &originals[i]->vm;
		pair[i]->memory_limit = SYSCRIPT_MEMORY_DEFAULT;
		pair[i]->time_limit = NSEC_PER_SEC * 3600;
		pair[i]->name = "";
		ret = vm_mode(originals[i], vm_create, pair[i]);
		if (ret)
			return ret;
	}
	return vm_mode(originals[0], vm_make_original, pair);
}

static void destroy_original(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (originals[i])
			engine_destroy(originals[i]);
}

static int engine_init(void)
{
	int ret = pages_init();

	if (ret)
		return ret;
	clock_init();
	ret = make_original();
	if (ret) {
		pr_err("a new VM cannot be copied (%d)\n", ret);
		destroy_original();
		clock_exit();
		pages_exit();
	}
	return ret;
}

static void engine_exit(void)
{
	cache_exit();
	destroy_original();
	clock_exit();
	pages_exit();
}

const struct engine_ops luajit_engine = {
	.name = "luajit",
	.init = engine_init,
	.exit = engine_exit,
	.create = engine_create,
	.call = luajit_call,
	.error = engine_error,
	.output = engine_output,
	.stats = engine_stats,
	.destroy = engine_destroy,
};
