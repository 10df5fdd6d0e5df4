/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface between the parts of the LuaJIT engine:
 *
 *   engine.c        the operations of the core's engine.h
 *   VM layer        vm.c, clone.c, lib_*.c and LuaJIT itself: built once for the
 *                   module and once for libsyscript from the same sources, with
 *                   SSE.  Knows no kernel header.
 *   platform layer  memory, machine code, random numbers: kernel/ in the module,
 *                   user/ in a process.  Declared below as port_*().
 *
 * The VM layer runs as script code (run.h), on the VM's own stack; for all but memory
 * it asks the core: run.h, usermem.h and the batches.
 *
 * Only plain C types here: this header is read under all sets of flags.
 */
#ifndef SYSCRIPT_VM_H
#define SYSCRIPT_VM_H

#include "engine.h"

#define VM_STACK_SIZE	RUN_STACK_SIZE
/* Enough for the C code that a call into the VM runs: the parser takes 126 KB. */
#define VM_STACK_RESERVE (144 << 10)

struct lua_State;

struct vm_stats {
	unsigned long memory, memory_peak, mcode;
	unsigned long traces;
};

/* A yield has found the run stopped: safe points do the rest. */
#define VM_POLLED	2

/**
 * struct vm - one program's virtual machine
 *
 * port_create() allocates it, zeroed, with its stack; engine.c sets what is
 * marked E before vm_open(); the VM layer sets the rest.
 */
struct vm {
	struct lua_State *L;
	struct run *run;		/* E */
	char *stack;			/* VM_STACK_SIZE bytes, lowest address */
	unsigned long memory_limit;	/* bytes */
	volatile int lock;		/* guards LuaJIT's dispatch table */
	volatile int poll;		/* C loops must call lj_vm_poll() soon; or VM_POLLED */
	int trusted;			/* loads bytecode, which only the module itself makes */
	void *heap;			/* LuaJIT's allocator */
	unsigned int scratch_used, strings_used;
	int ready;			/* no port_ready() is needed */
	int is_late;			/* a system call was made, and has returned this: */
	long late;
	/*
	 * Set by port_create(), random, and each for one purpose, so that no output depends on
	 * two.
	 */
	unsigned int hash_key;		/* added to addresses before they are hashed */
	unsigned long prng_key;		/* seeds LuaJIT's random choices */
	struct bytes_crc *crc;		/* tables of util.crc32(), or NULL */
#ifdef SYSCRIPT_FUZZ
	unsigned long fail;		/* the allocation that is to fail, or 0 */
#endif
	struct vm_stats stats;
};

/* Fault injection, for tests: true if this allocation is to fail. */
static inline int vm_fails(struct vm *vm)
{
#ifdef SYSCRIPT_FUZZ
	return vm->fail && !--vm->fail;
#else
	(void)vm;
	return 0;
#endif
}

/* Bytes for string arguments, at the end of the scratch memory. */
#define VM_SCRATCH_STRINGS (256 << 10)

/* User space only; see lint.c.  Takes the compiled script on L's top. */
void vm_lint(struct lua_State *L, struct engine_findings *findings);

/* The arguments of vm_open() and vm_run(); they lie outside the VM's stack. */
struct vm_load {
	struct vm *vm;
	const char *source;
	unsigned long len;
	int check;			/* compile only */
	/*
	 * The compiled form from an earlier load of the same source, or NULL; and a buffer for
	 * it, or NULL, with the length written (out; 0 if it does not fit).
	 */
	const char *compiled;
	unsigned long compiled_len;
	char *keep;
	unsigned long keep_size, kept;
	/* Checks only: vm_lint() or NULL. */
	void (*lint)(struct lua_State *L, struct engine_findings *findings);
	struct engine_findings *findings;
};

struct vm_run {
	struct vm *vm;
	unsigned int nargs;
	const long long *args;
	unsigned int nresults;		/* out */
	long long *results;		/* SYSCRIPT_RESULTS_MAX */
};

/*
 * VM layer, called by run_script(): kernel code does not keep the stack aligned
 * for SSE.  Both return 0 or -errno with the text in run->error.
 *
 * vm_open() makes the VM and loads the script.  There is no vm_close(): a VM holds
 * nothing but pages from port_*(), which the platform layer frees.
 */
long vm_open(void *load);
long vm_run(void *run);

/* Between runs, now and then: frees memory at the heap's end. */
long vm_idle(void *vm);

/*
 * Optional, and once: makes the original that vm_open() copies new VMs from
 * (clone.c).  Takes two VMs, prepared as for vm_open(), on zeroed pages and with
 * the same port_random(), that vm_create() has opened; their pages belong to it.
 */
long vm_create(void *vm);
long vm_make_original(void *pair);	/* struct vm *[2] */

/*
 * In any context, on the CPU that runs @vm or (user space) in another thread: vm_interrupt()
 * makes @vm call run_poll() soon. Returns 0 if it has to be repeated. vm_interrupted() undoes it.
 */
int vm_interrupt(struct vm *vm);
void vm_interrupted(struct vm *vm);

/* In a VM that is running and stopped: does not return. */
void vm_end(struct vm *vm);

/* Appends to the script's output; OUTPUT_CUT replaces the part that does not fit. */
static inline void vm_output(struct vm *vm, const char *s, unsigned long n)
{
	output_write(&vm->run->output, s, n);
}

/*
 * User space only: lints @image under the limits of @run, and returns what
 * engine_ops.create() would.
 */
struct engine_image;
int luajit_lint(struct run *run, const struct engine_image *image,
		struct engine_findings *findings);

/* -- The platform layer ------------------------------------------------------ */

int port_init(void);
void port_exit(void);

/* Allocates a struct vm with its stack, under a limit in bytes; or NULL. */
struct vm *port_create(unsigned long memory_limit);
/* Frees it with all pages that it holds. */
void port_destroy(struct vm *vm);

/* run_script(vm_open), or a cheaper equivalent of the platform. */
int port_load(struct vm_load *load);

/* Makes @vm ready: restores what port_idle() took.  0, or -ENOMEM with the text. */
int port_ready(struct vm *vm);
/*
 * To be called when @vm has not run for a while: frees memory that the next run can allocate
 * again.
 */
void port_idle(struct vm *vm);
/* Frees old memory that was cached for future VMs; false: nothing is left. */
int port_age(void);

/*
 * The heap, within reach of a 47 bit sign-extended pointer: one piece, up to
 * VM_HEAP_MAX(memory_limit), of whole granules.  port_pages() returns the pages that it has added
 * at the end; or NULL, with the run stopped if they exceed the limit. port_free_pages() frees
 * pages at the end.
 */
#define VM_GRANULE	(64UL << 10)
#define VM_HEAP_MAX(limit)	/* a quarter more, for holes between blocks */ \
	(((limit) + (limit) / 4 + 2 * VM_GRANULE - 1) & -VM_GRANULE)
void *port_pages(struct vm *vm, unsigned long size);
void port_free_pages(struct vm *vm, void *p, unsigned long size);

/*
 * Machine code in whole pages, writable: returns where it is written; it runs
 * at that address plus port_mcode_delta.  port_mcode_protect() switches between
 * writable and runnable, and makes new code visible to this CPU's instruction
 * fetch.  port_mcode_allowed() says whether it can be made runnable: a process may
 * lose that right at any time.
 */
extern long port_mcode_delta;
int port_mcode_allowed(void);
void *port_mcode(struct vm *vm, unsigned long size);
void port_free_mcode(struct vm *vm, void *p, unsigned long size);
int port_mcode_protect(struct vm *vm, void *p, unsigned long size, int writable);

/* For profilers: reports the new machine code of a trace that begins at @line. */
void port_trace(struct vm *vm, const void *p, unsigned long size, int line);
/* In the kernel: engine_ops.code(). */
void port_code(struct vm *vm, engine_code_fn *add, void *arg);

/* The VM cannot go on: its run ends at once, with -ECANCELED. */
void port_panic(struct vm *vm) __attribute__((noreturn));

/* In the kernel: the number that scripts see for an address, the same each time. */
unsigned long port_pointer(struct vm *vm, const void *p);

/* @n random bytes; in the kernel the same each time, see vm_make_original(). */
void port_random(void *p, unsigned long n);

#endif /* SYSCRIPT_VM_H */
