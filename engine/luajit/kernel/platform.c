// SPDX-License-Identifier: GPL-2.0
/*
 * The LuaJIT engine's platform layer in the module: implements vm.h's port_*() functions, with
 * memory from memory.c and mcode.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/sync_core.h>

#include "compat.h"
#include "engine.h"
#include "kernel/run_priv.h"
#include "../vm.h"
#include "arena.h"
#include "cache.h"
#include "mcode.h"
#include "memory.h"

/**
 * struct port_vm - a VM and its resources in the kernel
 * @writable: the machine code that is being written, or NULL
 * @pointer_key: key of port_pointer()
 */
struct port_vm {
	struct vm vm;
	struct memory memory;
	void *writable;
	unsigned long writable_size;
	siphash_key_t pointer_key;
	DECLARE_BITMAP(mcode, MCODE_PAGES);
};

static struct port_vm *port_vm(struct vm *vm)
{
	return container_of(vm, struct port_vm, vm);
}

void port_panic(struct vm *vm)
{
	pr_err_once("a script's VM could not go on and was ended\n");
	vm->run->stop_reason = -ECANCELED;
	run_abandon(vm->run, -ECANCELED);
	BUG();
}

/*
 * All VMs have one seed, because they are copies. It makes string hashes unpredictable for
 * authors of input; a script can only slow itself down.
 */
static u8 seed[32] __ro_after_init;

void port_random(void *p, unsigned long n)
{
	memcpy(p, seed, min_t(unsigned long, n, sizeof(seed)));
}

unsigned long port_pointer(struct vm *vm, const void *p)
{
	return siphash_1u64((unsigned long)p, &port_vm(vm)->pointer_key);
}

/* -- Memory ------------------------------------------------------------------ */

static void set_writable(struct port_vm *pv, bool writable)
{
	if (pv->writable)
		mcode_writable(pv->writable, pv->writable_size, writable);
}

/* The part of port_pages() that may sleep. */
struct pages_wanted {
	struct port_vm *pv;
	unsigned long size;
};

static long map_pages(void *arg)
{
	struct pages_wanted *wanted = arg;

	return memory_map_more(&wanted->pv->memory, wanted->size);
}

static void *map_and_grow(struct port_vm *pv, unsigned long size)
{
	struct pages_wanted wanted = { pv, size };
	long err;

	/* The task may continue on another CPU. */
	set_writable(pv, false);
	err = run_outside(pv->vm.run, map_pages, &wanted);
	set_writable(pv, true);
	return err ? NULL : memory_grow(&pv->memory, size);
}

void *port_pages(struct vm *vm, unsigned long size)
{
	struct port_vm *pv = port_vm(vm);
	void *p = memory_grow(&pv->memory, size);

	if (p == ERR_PTR(-EAGAIN))
		return map_and_grow(pv, size);
	if (!p)
		run_stop(vm->run, -ENOBUFS);
	return p;
}

void port_free_pages(struct vm *vm, void *p, unsigned long size)
{
	memory_shrink(&port_vm(vm)->memory, size);
}

/* Two areas may be open at a time; the first stays open for long. */
static void open_mcode(struct port_vm *pv, void *p, unsigned long size)
{
	if (pv->writable)
		return;
	pv->writable = p;
	pv->writable_size = size;
}

void *port_mcode(struct vm *vm, unsigned long size)
{
	struct port_vm *pv = port_vm(vm);
	void *p;

	/* Every VM gets a first area, and more while there is plenty. */
	if (vm->stats.mcode && mcode_scarce())
		return NULL;
	p = mcode_get(pv->mcode, size);
	if (p)
		open_mcode(pv, p, size);
	return p;
}

void port_free_mcode(struct vm *vm, void *p, unsigned long size)
{
	struct port_vm *pv = port_vm(vm);

	if (pv->writable == p)
		pv->writable = NULL;
	mcode_put(pv->mcode, p, size);
}

static bool jit = true;
module_param(jit, bool, 0644);
MODULE_PARM_DESC(jit, "Compile Lua (default: Y); N: interpret it, from now on");

int port_mcode_allowed(void)
{
	return READ_ONCE(jit);
}

int port_mcode_protect(struct vm *vm, void *p, unsigned long size, int writable)
{
	struct port_vm *pv = port_vm(vm);

	mcode_writable(p, size, writable);
	if (writable) {
		open_mcode(pv, p, size);
		return 0;
	}
	if (pv->writable == p)
		pv->writable = NULL;
	sync_core();
	return 0;
}

void port_trace(struct vm *vm, const void *p, unsigned long size, int line)
{
	mcode_note_line(p, size, line);
}

void port_code(struct vm *vm, engine_code_fn *add, void *arg)
{
	mcode_each(port_vm(vm)->mcode, add, arg);
}

struct vm *port_create(unsigned long memory_limit)
{
	struct port_vm *pv = kvzalloc(sizeof(*pv), GFP_KERNEL_ACCOUNT);

	if (!pv)
		return NULL;
	if (memory_open(&pv->memory, memory_limit)) {
		kvfree(pv);
		return NULL;
	}
	get_random_bytes(&pv->pointer_key, sizeof(pv->pointer_key));
	pv->vm.hash_key = get_random_u32();
	pv->vm.prng_key = get_random_long();
	pv->vm.memory_limit = memory_limit;
	pv->vm.stack = memory_stack(&pv->memory);
	return &pv->vm;
}

void port_destroy(struct vm *vm)
{
	struct port_vm *pv = port_vm(vm);

	mcode_put_all(pv->mcode);
	memory_close(&pv->memory);
	kvfree(pv);
}

/* -- Idle memory ------------------------------------------------------------- */

int port_ready(struct vm *vm)
{
	if (!memory_make_ready(&port_vm(vm)->memory)) {
		vm->ready = true;
		return 0;
	}
	strscpy(vm->run->error, "no memory for the script's stack", RUN_ERROR_LEN);
	return -ENOMEM;
}

void port_idle(struct vm *vm)
{
	struct memory *memory = &port_vm(vm)->memory;

	if (!memory->stack)
		return;
	run_script(vm->run, vm_idle, vm, vm->stack + VM_STACK_SIZE);
	vm->ready = false;
	memory_trim(memory);
}

int port_age(void)
{
	return cache_age();
}

/* -- Loading ----------------------------------------------------------------- */

static int load_on_stack(struct vm_load *load)
{
	return run_script(load->vm->run, vm_open, load, load->vm->stack + VM_STACK_SIZE);
}

/* Uses cached bytecode, if there is any. */
int port_load(struct vm_load *load)
{
	const char *name = load->vm->run->name;
	struct cache_entry *entry = NULL;
	int ret;

	if (!load->check && load->len <= CACHE_SOURCE_MAX) {
		entry = cache_get(name, load->source, load->len);
		if (entry) {
			load->compiled = entry->compiled;
			load->compiled_len = entry->len;
		} else {
			load->keep_size = CACHE_COMPILED_MAX;
			load->keep = kvmalloc(load->keep_size, GFP_KERNEL | __GFP_NOWARN);
		}
	}
	ret = load_on_stack(load);
	if (!ret && load->kept)
		cache_add(name, load->source, load->len, load->keep, load->kept);
	if (entry)
		cache_put(entry);
	kvfree(load->keep);
	return ret;
}

/* The VMs that new ones are copied from. */
static struct vm *originals[2];

static int make_one_original(struct vm **original, struct run *run)
{
	struct vm *vm = port_create(SYSCRIPT_MEMORY_DEFAULT);

	*original = vm;
	if (!vm)
		return -ENOMEM;
	/* Both are made in the same way, so that they differ only in addresses. */
	vm->hash_key = 0;
	vm->run = run;
	run->vm = (struct engine_vm *)vm;
	run->name = "";
	run->time_limit = NSEC_PER_SEC * 3600;
	run->wall_limit = SYSCRIPT_NO_LIMIT;
	return run_script(run, vm_create, vm, vm->stack + VM_STACK_SIZE);
}

/* The run exists only while they are made. */
static int make_originals(void)
{
	struct run *run = run_create(&luajit_engine);
	int ret;

	if (!run)
		return -ENOMEM;
	ret = make_one_original(&originals[0], run);
	if (!ret)
		ret = make_one_original(&originals[1], run);
	if (!ret)
		ret = run_script(run, vm_make_original, originals,
				 originals[0]->stack + VM_STACK_SIZE);
	run_destroy(run);
	return ret;
}

static void destroy_originals(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (originals[i])
			port_destroy(originals[i]);
}

int port_init(void)
{
	int ret = arena_init();

	if (ret)
		return ret;
	ret = mcode_init();
	if (ret)
		goto exit_arena;
	get_random_bytes(seed, sizeof(seed));
	cache_init();
	ret = make_originals();
	if (!ret)
		return 0;
	pr_err("a new VM cannot be copied (%d)\n", ret);
	destroy_originals();
	mcode_exit();
exit_arena:
	arena_exit();
	return ret;
}

void port_exit(void)
{
	cache_exit();
	destroy_originals();
	mcode_exit();
	arena_exit();
}
