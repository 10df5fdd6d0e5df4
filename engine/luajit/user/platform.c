// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The LuaJIT engine's platform layer in a process: its memory. LuaJIT keeps pointers in 47
 * sign-extended bits, so heap and stack have to lie below 2^46, where mmap() by default maps
 * nothing; machine code has to be within reach of a 32-bit jump from the engine's code.
 * Sanitizers reserve parts of these addresses: ThreadSanitizer and MemorySanitizer from 2^40 on,
 * AddressSanitizer below 2^44.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../vm.h"
#include "engine.h"
#include "user/sys.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE	0x100000
#endif

#define PAGE_SIZE	4096UL

/* Address ranges for heap and stack, tried in order. */
static const struct low {
	unsigned long start, end;
} lows[] = {
	{ 1UL << 45, 1UL << 46 }, { 1UL << 37, 1UL << 39 },
};

#define LOWS		(sizeof(lows) / sizeof(lows[0]))
#define LOW_TRIES	64

/* Less than 2 GiB by more than the size of the engine's code. */
#define NEAR_REACH	((1UL << 31) - (1UL << 26))
#define NEAR_STEP	(1UL << 20)

/* Signal handlers of the program may run on the VM's stack, below its end. */
#define STACK_GUARD	(64UL << 10)
#define STACK_SIGNALS	(64UL << 10)

struct region {
	char *start;
	size_t size;			/* 0: free */
};

/*
 * Records of the stack, the heap and areas of machine code, whose number the compiler's limits
 * bound. They are not malloc()ed: a signal handler may call a script in the middle of malloc().
 */
#define REGIONS		64

struct port_vm {
	struct vm vm;
	struct region regions[REGIONS];	/* all memory that it holds */
	char *heap;			/* one of @regions, or NULL */
	size_t heap_used;
};

static struct port_vm *port_vm(struct vm *vm)
{
	return (struct port_vm *)((char *)vm - offsetof(struct port_vm, vm));
}

static void *map_at(unsigned long addr, size_t size, int prot)
{
	long ret = sys_call(mmap, addr, size, prot,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1);

	if (ret < 0 && ret > -(long)PAGE_SIZE)
		return NULL;
	/* Before Linux 4.17 the address was only a hint. */
	if ((unsigned long)ret != addr) {
		sys_call(munmap, ret, size);
		return NULL;
	}
	return (void *)ret;
}

static unsigned long low_random(const struct low *low)
{
	unsigned long r = 0;

	port_random(&r, sizeof(r));
	return low->start + r % (low->end - low->start) / 2 / PAGE_SIZE * PAGE_SIZE;
}

static void *low_map_in(const struct low *low, size_t size, int prot)
{
	static unsigned long cursor;
	unsigned long addr;
	void *p;

	for (int i = 0; i < LOW_TRIES; i++) {
		/* An unmapped page between two mappings. */
		addr = __atomic_fetch_add(&cursor, size + PAGE_SIZE, __ATOMIC_RELAXED);
		if (addr >= low->start && addr < low->end - size) {
			p = map_at(addr, size, prot);
			if (p)
				return p;
		}
		__atomic_store_n(&cursor, low_random(low), __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *low_map(size_t size, int prot)
{
	static unsigned int which;
	unsigned int first = __atomic_load_n(&which, __ATOMIC_RELAXED);
	void *p = NULL;

	size = (size + PAGE_SIZE - 1) & -PAGE_SIZE;
	for (unsigned int i = first; i < LOWS && !p; i++) {
		p = low_map_in(&lows[i], size, prot);
		/* Further mappings try this range first. */
		if (p && i != first)
			__atomic_store_n(&which, i, __ATOMIC_RELAXED);
	}
	return p;
}

static void *near_map(size_t size)
{
	static unsigned long found = NEAR_STEP;
	unsigned long text = (unsigned long)(uintptr_t)vm_open & -NEAR_STEP;
	unsigned long first = __atomic_load_n(&found, __ATOMIC_RELAXED);
	unsigned long off = first;
	void *p;

	do {
		p = NULL;
		if (text > off + NEAR_STEP)
			p = map_at(text - off, size, PROT_READ | PROT_WRITE);
		if (!p)
			p = map_at(text + off, size, PROT_READ | PROT_WRITE);
		if (p) {
			__atomic_store_n(&found, off, __ATOMIC_RELAXED);
			return p;
		}
		off = off + NEAR_STEP < NEAR_REACH - size ? off + NEAR_STEP : NEAR_STEP;
	} while (off != first);
	return NULL;
}

static void *region_add(struct vm *vm, void *start, size_t size)
{
	struct region *regions = port_vm(vm)->regions, *region;

	if (!start)
		return NULL;
	for (region = regions; region < regions + REGIONS && region->size; region++)
		;
	if (region == regions + REGIONS) {
		sys_call(munmap, start, size);
		return NULL;
	}
	*region = (struct region){ start, size };
	return start;
}

/* Unmaps a whole region, or its head or tail: an allocator trims its memory. */
static void region_del(struct vm *vm, char *start, size_t size)
{
	struct region *region = port_vm(vm)->regions, *end = region + REGIONS;

	for (; region < end; region++) {
		if (region->size && start >= region->start &&
		    start + size <= region->start + region->size)
			break;
	}
	if (region == end || (start != region->start &&
			      start + size != region->start + region->size))
		return;
	sys_call(munmap, start, size);
	if (start == region->start)
		region->start += size;
	region->size -= size;
}

static char *stack_map(struct vm *vm)
{
	const size_t used = STACK_SIGNALS + VM_STACK_SIZE, size = STACK_GUARD + used;
	char *p = region_add(vm, low_map(size, PROT_NONE), size);
	long err;

	if (!p)
		return NULL;
	err = sys_call(mmap, p + STACK_GUARD, used, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
	return err == (long)p + (long)STACK_GUARD ? p + STACK_GUARD + STACK_SIGNALS : NULL;
}

struct vm *port_create(unsigned long memory_limit)
{
	struct port_vm *pv = calloc(1, sizeof(*pv));

	if (!pv)
		return NULL;
	pv->vm.memory_limit = memory_limit;
	port_random(&pv->vm.hash_key, sizeof(pv->vm.hash_key));
	port_random(&pv->vm.prng_key, sizeof(pv->vm.prng_key));
#ifdef SYSCRIPT_FUZZ
	pv->vm.fail = getenv("SYSCRIPT_FAIL") ? strtoul(getenv("SYSCRIPT_FAIL"), NULL, 10) : 0;
#endif
	pv->vm.stack = stack_map(&pv->vm);
	if (!pv->vm.stack) {
		port_destroy(&pv->vm);
		return NULL;
	}
	return &pv->vm;
}

void port_destroy(struct vm *vm)
{
	struct port_vm *pv = port_vm(vm);

	for (struct region *region = pv->regions; region < pv->regions + REGIONS; region++)
		if (region->size)
			sys_call(munmap, region->start, region->size);
	free(pv);
}

int port_init(void)
{
	return 0;
}

void port_exit(void)
{
}

int luajit_lint(struct run *run, const struct engine_image *image,
		struct engine_findings *findings)
{
	struct vm_load load = {
		.source = image->data, .len = image->len, .check = 1,
		.lint = vm_lint, .findings = findings,
	};
	struct vm *vm = port_create(run->memory_limit);
	int err;

	if (!vm)
		return -ENOMEM;
	vm->run = run;
	load.vm = vm;
	run->vm = (struct engine_vm *)vm;
	err = port_load(&load);
	port_destroy(vm);
	return err;
}

int port_load(struct vm_load *load)
{
	struct vm *vm = load->vm;

	return run_script(vm->run, vm_open, load, vm->stack + VM_STACK_SIZE);
}

/* Machine code runs at the address where it was written. */
long port_mcode_delta;

/* Reserves address space for all of it; memory is allocated at the first access. */
static char *heap(struct vm *vm)
{
	struct port_vm *pv = port_vm(vm);
	size_t size = VM_HEAP_MAX(vm->memory_limit);

	if (!pv->heap)
		pv->heap = region_add(vm, low_map(size, PROT_READ | PROT_WRITE), size);
	return pv->heap;
}

void *port_pages(struct vm *vm, unsigned long size)
{
	struct port_vm *pv = port_vm(vm);
	void *p;

	if (!heap(vm) || vm_fails(vm))
		return NULL;
	if (size > VM_HEAP_MAX(vm->memory_limit) - pv->heap_used) {
		run_stop(vm->run, -ENOBUFS);
		return NULL;
	}
	p = pv->heap + pv->heap_used;
	pv->heap_used += size;
	return p;
}

void port_free_pages(struct vm *vm, void *p, unsigned long size)
{
	port_vm(vm)->heap_used -= size;
	sys_call(madvise, p, size, MADV_DONTNEED);
}

int port_ready(struct vm *vm)
{
	vm->ready = 1;
	return 0;
}

void port_idle(struct vm *vm)
{
	(void)vm;
}

int port_age(void)
{
	return 0;
}

/*
 * Asks the kernel each time: PR_SET_MDWE, seccomp filters (systemd's MemoryDenyWriteExecute) and
 * SELinux all refuse this call and no other.
 */
int port_mcode_allowed(void)
{
	void *page = near_map(PAGE_SIZE);
	long err;

	if (!page)
		return 0;
	err = sys_call(mprotect, page, PAGE_SIZE, PROT_READ | PROT_EXEC);
	sys_call(munmap, page, PAGE_SIZE);
	return !err;
}

void *port_mcode(struct vm *vm, unsigned long size)
{
	return vm_fails(vm) ? NULL : region_add(vm, near_map(size), size);
}

void port_free_mcode(struct vm *vm, void *p, unsigned long size)
{
	region_del(vm, p, size);
}

int port_mcode_protect(struct vm *vm, void *p, unsigned long size, int writable)
{
	(void)vm;
	return sys_call(mprotect, p, size, PROT_READ | (writable ? PROT_WRITE : PROT_EXEC));
}

/*
 * perf's file of symbols, written only if requested, because it is in /tmp. The file is only
 * appended to: a later name at the same address replaces an earlier one.
 */
void port_trace(struct vm *vm, const void *p, unsigned long size, int line)
{
	char text[SYSCRIPT_NAME_LEN + 64];
	long fd;
	int n;

	if (!secure_getenv("SYSCRIPT_PERF_MAP"))
		return;
	snprintf(text, sizeof(text), "/tmp/perf-%ld.map", sys_call(getpid));
	fd = sys_above_standard(sys_call(open, text, O_WRONLY | O_CREAT | O_APPEND |
						     O_NOFOLLOW | O_CLOEXEC, 0600));
	if (fd < 0)
		return;
	n = snprintf(text, sizeof(text), "%lx %lx luajit:%s:%d\n", (unsigned long)p, size,
		     vm->run->name, line);
	sys_call(write, fd, text, n);
	sys_call(close, fd);
}

void port_code(struct vm *vm, engine_code_fn *add, void *arg)
{
	(void)vm;
	(void)add;
	(void)arg;
}

void port_panic(struct vm *vm)
{
	vm->run->stop_reason = -ECANCELED;
	run_abandon(vm->run, -ECANCELED);
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
		/* A filter forbids the call: hash seeds may then be predictable. */
		if (got <= 0) {
			*to = (char)(sys_now(CLOCK_MONOTONIC) >> (n & 7));
			got = 1;
		}
		to += got;
		n -= got;
	}
}
