// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A script should pay only for the memory that it uses. Script and runtime share one arena, so
 * that an engine in the kernel or in this process can run the script, and one can take over from
 * the other.
 *
 * The arena, from its beginning:
 *
 *   an unused page, so that 0 is no address
 *   the compound's data
 *   struct runtime_call, which ends with the output
 *   from the next page on: memory for Lua, as much as the limit allows
 *   the script
 *   the compound's stack
 *   the state of each slot for calls in the kernel, and the text of the last error
 *
 * Memory of the module is charged page by page when it is used. The library populates what it
 * uses; the runtime requests more (lua-runtime/support.c).
 *
 * The script can write to the whole arena, so nothing that is read there is trusted.
 */
#include <errno.h>
#include <linux/syscript_image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lua_shared_image.h"
#include "lua_cold.h"
#include "lua_vm.h"
#include "user/arena.h"

#define PAGE		4096UL
/*
 * Enough for LUAI_MAXCCALLS, 200, nested calls of string.gsub(); after half of them the stack is
 * unwound if possible (lua-runtime/finish.h).
 */
#define STACK_SIZE	(640U << 10)
#define NATIVE_SIZE	(192U << 10)
/*
 * Additional bytes and frames for nested compiled functions. Deeper calls are interpreted, so
 * that they end in an error.
 */
#define COMPILED_STACK	(96U << 10)
#define COMPILED_NATIVE	(COMPILED_STACK / 64 * 40)
#define STACK_SPARE	64
#define SLOTS		(TURN_SLOTS + 1)
#define SLOTS_SIZE	((SLOTS * (sizeof(struct runtime_io) + sizeof(void *)) + \
			  RUNTIME_ERROR_LEN + 15) & -16UL)
_Static_assert(SLOTS_SIZE + STACK_SPARE <= PAGE, "the stack begins in the same page");
/*
 * Measured use of memory: by Lua's libraries, for each byte of a script's text, and of the stack
 * while a script is loaded.
 */
#define LIBRARIES_HEAP	(36UL << 10)
#define HEAP_OF_TEXT	8
#define STACK_LOADING	(16UL << 10)
/* Memory for large buffers, which stays when another engine takes over. */
#define LARGE_SIZE	(768U << 10)

/* Cannot fail: lua_vm_make_arena() has allocated all that is taken here. */
static void *take_memory(struct vm *vm, size_t size)
{
	char *p = vm->at;

	vm->at += (size + 15) & -16UL;
	return p;
}

/*
 * Takes the module's memory if the script is to run in the kernel: a script has 1 MiB of stack
 * and as much for Lua, and uses little of either.
 */
static int share_arena(struct vm *vm)
{
	bool kernel = vm->backend == SYSCRIPT_BACKEND_KERNEL ||
		(vm->backend == SYSCRIPT_BACKEND_AUTO && compound_engine_is_there());

	if (kernel)
		arena_mark(vm->arena, vm->shift);
	vm->module = kernel && !device_map_arena(vm->arena, 1UL << vm->shift);
	return vm->module || !kernel ? 0 : arena_map_again(vm->arena, vm->shift);
}

int lua_vm_make_arena(struct vm *vm, const struct cosy_file *file, size_t source_len)
{
	size_t size = ARENA_START + file->memory_size + file->align +
		      STACK_SIZE + COMPILED_STACK + STACK_SPARE +
		      sizeof(struct runtime_call) + SYSCRIPT_NAME_LEN +
		      SLOTS_SIZE + source_len + 256 + vm->run->memory_limit + 2 * PAGE +
		      lua_cold_size(vm->run);

	vm->shift = IMAGE_ARENA_SHIFT_MIN;
	while (1UL << vm->shift < size)
		vm->shift++;
	vm->arena = arena_map(vm->shift);
	if (!vm->arena)
		return -ENOMEM;
	if (!share_arena(vm))
		return 0;
	vm->arena = NULL;
	return -ENOMEM;
}

static void align_memory(struct vm *vm)
{
	take_memory(vm, -(unsigned long)vm->at & (PAGE - 1));
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static size_t page_after(size_t at)
{
	return (at + PAGE - 1) & -PAGE;
}

void lua_vm_used_parts(const struct vm *vm, struct lua_part parts[SNAPSHOT_PARTS])
{
	size_t heap = vm->heap - vm->arena;
	size_t size = RUNTIME_BLOCKS(vm->run->memory_limit) * RUNTIME_BLOCK;
	uint64_t low = least(READ_ONCE(vm->call->heap_low), size);
	uint64_t map = READ_ONCE(vm->call->heap_map) - (uintptr_t)vm->heap;

	if (map < size || map > size + size / RUNTIME_BLOCK)
		map = size;
	parts[0] = (struct lua_part){ ARENA_START, vm->call->output.text - vm->arena };
	parts[1] = (struct lua_part){ (heap + low) & -PAGE, heap + size };
	parts[2] = (struct lua_part){ (heap + map) & -PAGE, heap + size + size / RUNTIME_BLOCK };
	if (parts[2].from < page_after(parts[1].to))
		parts[2].from = page_after(parts[1].to);
}

static void copy_part(char *to, const struct vm *vm, struct lua_part part)
{
	if (part.from < part.to)
		memcpy(to + part.from, vm->arena + part.from, part.to - part.from);
}

int lua_vm_leave_module(struct vm *vm)
{
	size_t size = 1UL << vm->shift;
	struct lua_part parts[SNAPSHOT_PARTS];
	char *own;

	if (!vm->module)
		return 0;
	own = mmap(NULL, size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (own == MAP_FAILED)
		return -ENOMEM;
	madvise(own, size, MADV_NOHUGEPAGE);
	lua_vm_used_parts(vm, parts);
	for (int i = 0; i < SNAPSHOT_PARTS; i++)
		copy_part(own, vm, parts[i]);
	copy_part(own, vm, (struct lua_part){ parts[SNAPSHOT_PARTS - 1].to, vm->at - vm->arena });
	copy_part(own, vm, (struct lua_part){ (char *)vm->ios - vm->arena, size });
	if (mremap(own, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, vm->arena) == MAP_FAILED) {
		munmap(own, size);
		return -ENOMEM;
	}
	vm->module = false;
	return 0;
}

/* Replaces the module's memory by memory of the process, zeroed. */
static int own_arena(struct vm *vm)
{
	size_t size = 1UL << vm->shift;

	if (mmap(vm->arena, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -ENOMEM;
	madvise(vm->arena, size, MADV_NOHUGEPAGE);
	vm->module = false;
	return 0;
}

/*
 * As an earlier script of the same text, whose image is complete. False: there is none, or no
 * memory.
 */
static bool place_kept(struct vm *vm)
{
	const struct lua_kept_key key = lua_vm_key(vm);
	struct lua_kept *kept = vm->anew ? NULL : lua_kept_get(&key, vm->arena);

	if (!kept)
		return false;
	if (!lua_kept_copy(kept, vm->arena)) {
		lua_kept_put(kept);
		return false;
	}
	vm->kept = kept;
	vm->image = lua_kept_image(kept, &vm->image_len, &vm->origins);
	vm->is_loaded = true;
	return true;
}

static int place_runtime(struct vm *vm, const struct cosy_file *file, char *data)
{
	vm->image = shared_image_extend(vm->base, &vm->image_len);
	if (!vm->image)
		return -ENOMEM;
	if (shared_image_open(vm->base, vm->run->memory_limit, vm->arena))
		return 0;
	/* With the call. */
	if (arena_populate(data, vm->at - data + offsetof(struct runtime_call, output.text)))
		return -ENOMEM;
	file_load_data(file, data);
	return 0;
}

static int place_compound(struct vm *vm, const struct cosy_file *file)
{
	const struct image_header header = {
		.arena_shift = vm->shift,
		.stack_end = (1UL << vm->shift) - SLOTS_SIZE - STACK_SPARE,
		.stack_size = STACK_SIZE + COMPILED_STACK,
		.native_size = NATIVE_SIZE + COMPILED_NATIVE,
	};
	char *data = vm->arena + LUA_DATA_OFFSET(file);

	vm->at = data + ((file->memory_size + 15UL) & -16UL);
	vm->base = shared_image_get(file, data - vm->arena, &header);
	if (!vm->base)
		return -ENOMEM;
	return place_kept(vm) ? 0 : place_runtime(vm, file, data);
}

/* Takes memory for the call without its output, the heap, the slots, and the script. */
static int take_call(struct vm *vm, size_t source_len)
{
	struct runtime_call *call;

	vm->call = call = take_memory(vm, sizeof(*call));
	align_memory(vm);
	vm->heap = take_memory(vm, RUNTIME_BLOCKS(vm->run->memory_limit) * (RUNTIME_BLOCK + 1));
	vm->ios = (void *)(vm->arena + (1UL << vm->shift) - SLOTS_SIZE);
	vm->frames = (void *)(vm->ios + SLOTS);
	vm->error = (void *)(vm->frames + SLOTS);
	if (arena_populate(vm->ios, SLOTS_SIZE) ||
	    arena_populate(vm->at, source_len + 1 + 16 + SYSCRIPT_NAME_LEN + 1 + 16 +
			   lua_cold_size(vm->run)))
		return -ENOMEM;
	for (int i = 0; i < SLOTS; i++) {
		vm->frames[i] = &vm->ios[i];
		vm->ios[i].call = vm->call;
	}
	return 0;
}

/*
 * Populates what loading a script will probably use. Memory that the runtime requests in a run is
 * another view of the arena in the kernel, which costs more than all of its pages.
 */
static void populate_ahead(struct vm *vm)
{
	size_t size = RUNTIME_BLOCKS(vm->run->memory_limit) * RUNTIME_BLOCK;
	size_t end = vm->call->opened ? least(vm->call->heap_low, size) : size;
	size_t ahead = (vm->call->opened ? 0 : LIBRARIES_HEAP) + vm->source->len * HEAP_OF_TEXT;
	char *stack = vm->arena + vm->image->stack_end;

	if (!vm->module || vm->kept)
		return;
	/* Whole pages; without memory for them, the script may need fewer. */
	ahead = least(ahead, end) & -PAGE;
	if (!arena_populate(stack - STACK_LOADING, STACK_LOADING))
		arena_populate(vm->heap + (end & -PAGE) - ahead, ahead);
}

static int place_call(struct vm *vm)
{
	const struct engine_image *source = vm->source;
	struct run *run = vm->run;
	long large = run_scratch(run);
	char name[SYSCRIPT_NAME_LEN + 1], *text;
	int len = snprintf(name, sizeof(name), "@%s", run->name[0] ? run->name : "script");
	struct runtime_call *call;
	size_t cold;

	if (take_call(vm, source->len))
		return -ENOMEM;
	call = vm->call;
	/* The one of a kept script is at the same offset. */
	if (!vm->kept)
		vm->image->stop = (char *)&call->stop - vm->arena;
	call->version = RUNTIME_VERSION;
	call->size = sizeof(*call);
	call->only = run->only;
	call->libraries = run->libraries;
	memcpy(call->calls, run->calls, sizeof(call->calls));
	call->check = run->flags & SYSCRIPT_CHECK;
	call->another = vm->another;
	call->engine = 0;
	call->error = vm->error;
	call->arena = (unsigned long)vm->arena;
	call->arena_size = 1UL << vm->shift;
	call->floor = (unsigned long)vm->arena + vm->image->stack_end - COMPILED_STACK;
	call->large = large > 0 ? large : 0;
	call->large_size = LARGE_SIZE;
	call->heap_size = run->memory_limit;
	call->heap = vm->heap;
	text = take_memory(vm, source->len + 1);
	call->source = memcpy(text, source->data, source->len);
	call->source_len = source->len;
	call->name = memcpy(take_memory(vm, sizeof(name)), name, len + 1);
	cold = lua_cold_size(run);
	lua_cold_place(call, cold ? take_memory(vm, cold) : NULL);
	populate_ahead(vm);
	return 0;
}

static int place_all(struct vm *vm, const struct cosy_file *file)
{
	vm->at = vm->arena + ARENA_START;
	return place_compound(vm, file) ?: place_call(vm);
}

void lua_vm_drop_image(struct vm *vm)
{
	if (vm->kept) {
		lua_kept_put(vm->kept);
	} else {
		free(vm->image);
		free(vm->origins.at);
	}
	vm->kept = NULL;
	vm->image = NULL;
	vm->origins = (struct origins){ 0 };
	vm->is_loaded = false;
}

static void displace_all(struct vm *vm)
{
	lua_vm_drop_image(vm);
	if (vm->base)
		shared_image_put(vm->base);
	vm->base = NULL;
}

/*
 * If the module has no memory for it, the script stays in this process, with the reason in its
 * error text.
 */
int lua_vm_place(struct vm *vm, const struct cosy_file *file)
{
	int err = place_all(vm, file);

	if (err != -ENOMEM || !vm->module)
		return err;
	snprintf(vm->run->error, RUN_ERROR_LEN,
		 "no memory for the arena: the memory cgroup has no more, or this user's scripts have as much as they may (module parameter max_arenas)");
	if (vm->another)
		return -EOPNOTSUPP;
	if (vm->backend == SYSCRIPT_BACKEND_KERNEL)
		return err;
	displace_all(vm);
	vm->backend = SYSCRIPT_BACKEND_USER;
	return own_arena(vm) ?: place_all(vm, file);
}
