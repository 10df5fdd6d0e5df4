/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The LuaJIT engine, between its two halves.
 *
 *   script side   vm.c, lib_*.c and LuaJIT itself: built once for the kernel
 *                 and once for libsyscript from the same sources, with SSE.
 *                 Knows no kernel header.
 *   place side    what the surroundings have to give: engine.c in the kernel,
 *                 lib/user.c in a process.  Declared below as port_*().
 *
 * The script side runs in *VM mode*: on the VM's own stack, with the FPU
 * usable, and in the kernel without preemption.  The place side enters it with
 * vm_open() and vm_run(); port_*() functions are called in VM mode,
 * and those that may sleep leave it for as long as they need.
 *
 * Only plain C types here: this header is read under both sets of flags.
 */
#ifndef SYSCRIPT_VM_H
#define SYSCRIPT_VM_H

#define VM_ERROR_LEN	512
#define VM_OUTPUT_LEN	16384
#define VM_STACK_SIZE	(256 << 10)
/* What C code below a call into the VM may need: the parser takes 126 KB. */
#define VM_STACK_RESERVE (144 << 10)

struct lua_State;
struct mmsg_call;

struct vm_stats {
	unsigned long memory, memory_peak, mcode;
	unsigned long run_time;		/* ns */
	unsigned long syscalls;
	unsigned long traces;
};

/**
 * struct vm - one script's virtual machine
 *
 * Allocated, zeroed, by the place side, which fills in what is marked P before
 * vm_open(); the script side fills in the rest.
 */
struct vm {
	struct lua_State *L;
	char *stack;			/* P: VM_STACK_SIZE bytes, lowest address */
	unsigned long memory_limit;	/* P: bytes */
	unsigned long time_limit;	/* P: ns */
	unsigned long deadline;		/* P: the stats.run_time it may reach */
	const char *name;		/* P: chunk name, "" if none */
	unsigned int flags;		/* P: SYSCRIPT_* */
	/*
	 * 0, or why the script has to end: -ETIME, -ENOBUFS, -ECANCELED,
	 * -EOPNOTSUPP.  Once set, every safe point throws; only -EOPNOTSUPP
	 * (watched) is taken back at the end of the call.
	 */
	volatile int doom;
	volatile int lock;		/* guards LuaJIT's dispatch table */
	volatile int poll;		/* C loops: lj_vm_poll() is due */
	int trusted;			/* loads bytecode: only ever our own */
	void *heap;			/* LuaJIT's allocator */
	unsigned long scratch;		/* port_scratch(), once asked for */
	unsigned int scratch_used, strings_used;
	struct vm_stats stats;
	unsigned int error_len;
	char error[VM_ERROR_LEN];
	unsigned int output_len;
	char output[VM_OUTPUT_LEN];
};

/* What vm_open() and vm_run() work on; lies outside the VM's stack. */
struct vm_load {
	struct vm *vm;
	const char *source;
	unsigned long len;
	int check;			/* compile only */
	/*
	 * The compiled form: that of an earlier load of the same source, or
	 * NULL; and room for it, or NULL, with what was put there (out, 0 if it
	 * does not fit).
	 */
	const char *compiled;
	unsigned long compiled_len;
	char *keep;
	unsigned long keep_size, kept;
};

struct vm_run {
	struct vm *vm;
	unsigned int nargs;
	const long long *args;
	unsigned int nresults;		/* out */
	long long *results;		/* SYSCRIPT_RESULTS_MAX */
};

/*
 * Script side, called in VM mode by the place side, straight from
 * vm_on_stack(): kernel code does not keep the stack aligned for SSE.  Both
 * return 0 or -errno with the text in vm->error.
 *
 * vm_open() makes the VM and loads the script.  There is no vm_close(): all
 * that a VM holds are the pages it got from port_*(), so the place side frees
 * those.
 */
long vm_open(void *load);

/*
 * Optional, and once: makes the original that vm_open() copies new VMs from.
 * Takes two VMs, prepared as for vm_open(), on zeroed pages and with the same
 * port_random(), that vm_create() has opened; their pages belong to it.
 */
long vm_create(void *vm);
long vm_make_original(void *pair);	/* struct vm *[2] */

long vm_run(void *run);

/*
 * In any context, on the CPU that runs @vm or (user space) in another thread:
 * make it call port_poll() soon.  Returns 0 if it has to be tried again.
 * vm_interrupted() takes it back.
 */
int vm_interrupt(struct vm *vm);
void vm_interrupted(struct vm *vm);

/* Appends to what print() wrote; what does not fit is lost. */
void vm_output(struct vm *vm, const char *s, unsigned long n);

/* Takes up to @n bytes of it out; returns how many there were. */
static inline unsigned long vm_take_output(struct vm *vm, char *to,
					   unsigned long n)
{
	unsigned long there = vm->output_len;

	if (n > there)
		n = there;
	if (n) {
		__builtin_memcpy(to, vm->output, n);
		__builtin_memmove(vm->output, vm->output + n, there - n);
	}
	vm->output_len = there - n;
	return there;
}

/*
 * Place side.  @vm is the running one; all return what the kernel would.
 */

/* Heap in whole pages, inside what a 47 bit sign-extended pointer can reach. */
void *port_pages(struct vm *vm, unsigned long size);
void port_free_pages(struct vm *vm, void *p, unsigned long size);

/*
 * Machine code in whole pages, writable: returns where it is written; it runs
 * at that address plus port_mcode_delta.  port_mcode_protect() goes to and fro
 * between writable and runnable, and makes new code visible to this CPU's
 * instruction fetch.
 */
extern long port_mcode_delta;
void *port_mcode(struct vm *vm, unsigned long size);
void port_free_mcode(struct vm *vm, void *p, unsigned long size);
int port_mcode_protect(struct vm *vm, void *p, unsigned long size, int writable);

/*
 * Calls entry @index of syscalls.def with @args[6]; never -ERESTART*.  Sets
 * vm->doom to -EOPNOTSUPP, and calls nothing, if the task is watched.
 */
long port_syscall(struct vm *vm, unsigned int index, const long *args);

/* The calls of ../mmsg.h, likewise: a number of messages or -errno. */
long port_mmsg_recv(struct vm *vm, struct mmsg_call *call);
long port_mmsg_send(struct vm *vm, struct mmsg_call *call);

/* User memory, whole ranges: 0 or -EFAULT. */
int port_copy_in(struct vm *vm, void *to, unsigned long from, unsigned long n);
int port_copy_out(struct vm *vm, unsigned long to, const void *from, unsigned long n);

/* The same for a scalar of 1, 2, 4 or 8 bytes, in the low bytes of @v. */
int port_load(struct vm *vm, unsigned long long *v, unsigned long from,
	      unsigned int size);
int port_store(struct vm *vm, unsigned long to, const unsigned long long *v,
	       unsigned int size);

/*
 * The script's own user memory, for util.buffer() and string arguments: the
 * address of VM_SCRATCH_SIZE bytes that the process can read and write, mapped
 * at the first request and unmapped with the VM, or -errno.
 */
#define VM_SCRATCH_SIZE	(1 << 20)
#define VM_SCRATCH_STRINGS (256 << 10)	/* of it, at its end */
long port_scratch(struct vm *vm);

/* A safe point that vm_interrupt() asked for: give way to others, look at the
 * clock and at signals; sets vm->doom. */
void port_poll(struct vm *vm);

/* The VM cannot go on: leaves it at once, the caller of VM mode gets -EIO. */
void port_panic(struct vm *vm) __attribute__((noreturn));

/* Random, in the kernel: what hides the addresses that scripts print. */
extern unsigned long port_pointer_key;

/* @n random bytes. */
void port_random(void *p, unsigned long n);

/* stack.S */
long vm_on_stack(long (*fn)(void *), void *arg, void *top, void **home);
long vm_off_stack(long (*fn)(void *), void *arg, void *home);
void vm_escape(long ret, void *home);

#endif /* SYSCRIPT_VM_H */
