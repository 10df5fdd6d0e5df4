// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Lua's runtime as an engine of the user backend.  A script's top level first runs in the
 * interpreter. Then the functions that it has defined are compiled, and the script is loaded
 * again with them. The next script of the same text begins there (lua_kept.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua_shared_image.h"
#include "lua_host.h"
#include "lua_image.h"
#include "lua_vm.h"
#include "user/arena.h"
#include "user/lock.h"

/*
 * For tests: "no" interprets all functions; "all" compiles none if one cannot be compiled, which
 * would be interpreted otherwise.
 */
static bool compile_is(const char *how)
{
	const char *said = secure_getenv("SYSCRIPT_LUA_COMPILE");

	return said && !strcmp(said, how);
}

static bool compiles(void)
{
	return !compile_is("no");
}

bool lua_host_runtime(struct engine_vm *engine_vm, struct runtime *runtime)
{
	const struct vm *vm = lua_vm_of(engine_vm);

	*runtime = (struct runtime){
		.arena = vm->arena, .size = 1UL << vm->shift, .state = (uintptr_t)vm->call->state,
		.replaced = (uintptr_t)vm->call->replaced, .found = (uintptr_t)vm->call->found,
		.characters = (uintptr_t)vm->call->characters, .seen = (uintptr_t)vm->call->seen,
		.all = compile_is("all"),
	};
	return runtime_read(runtime, (uintptr_t)vm->call->exports, &runtime->exports,
			    sizeof(runtime->exports));
}

/* Keeps the compiled script, which then shares its image with later ones of its text. */
static void keep_script(struct vm *vm)
{
	const struct lua_kept_key key = lua_vm_key(vm);
	struct lua_part parts[SNAPSHOT_PARTS];

	lua_vm_used_parts(vm, parts);
	vm->kept = lua_kept_add(&key, vm->arena, 1UL << vm->shift, parts,
				READ_ONCE(vm->call->depends), vm->image, vm->image_len,
				vm->origins);
}

/*
 * Compiles the script after its top level has run, when its functions and the values that they
 * use exist. After a failure the interpreter runs them.
 */
static int compile_script(struct vm *vm)
{
	struct origins origins = { 0 };
	struct image_header *image;
	struct runtime runtime;
	int err = 0;
	size_t len;

	if (!compiles() || !lua_host_runtime((struct engine_vm *)vm, &runtime))
		return lua_vm_limit_calls(vm);
	image = runtime_compile(&runtime, shared_image_header(vm->base),
				shared_image_table(vm->base),
				&len, &origins);
	if (!image) {
		err = lua_vm_limit_calls(vm);
	} else if (lua_vm_reload(vm, image, len, &err)) {
		runtime_attach(&runtime);
		vm->origins = origins;
		origins.at = NULL;
		keep_script(vm);
	}
	free(origins.at);
	runtime_free(&runtime);
	return err;
}

static void lua_destroy(struct engine_vm *engine_vm)
{
	struct vm *vm = lua_vm_of(engine_vm);

	if (vm->inner)
		confined_engine.destroy(vm->inner);
	compound_close(&vm->kernel);
	if (vm->arena)
		arena_unmap(vm->arena, vm->shift);
	lua_vm_drop_image(vm);
	if (vm->base)
		shared_image_put(vm->base);
	free(vm);
}

static int open_lua(struct vm *vm)
{
	unsigned long limit = vm->run->memory_limit;
	struct lua_part parts[SNAPSHOT_PARTS];
	int err;

	if (vm->call->opened)
		return 0;
	err = lua_vm_enter(vm);
	if (err)
		return err;
	lua_vm_used_parts(vm, parts);
	shared_image_keep(vm->base, limit, vm->arena, parts);
	return 0;
}

static int run_top(struct vm *vm)
{
	int err = open_lua(vm) ?: lua_vm_enter(vm);

	vm->another = false;
	vm->is_loaded = true;
	return err || vm->call->check ? err : compile_script(vm);
}

static int load_script(struct vm *vm)
{
	/* The reason why it is not in the kernel, unless there just is no device. */
	char *told = vm->run->error[0] ? strdup(vm->run->error) : NULL;
	int err = run_top(vm);

	if (!err)
		snprintf(vm->run->error, RUN_ERROR_LEN, "%s", told ?: "");
	free(told);
	return err == -EPROTO || err == -ERANGE ? -ENOEXEC : err;
}

/* No script code runs, so signals are blocked once for all locks. */
static int place(struct vm *vm, const struct cosy_file *file)
{
	int err;

	signals_block();
	err = lua_vm_make_arena(vm, file, vm->source->len) ?: lua_vm_place(vm, file);
	if (!err && vm->kept)
		err = lua_vm_load_kept(vm);
	signals_unblock();
	return err;
}

static int make_vm(struct vm *vm)
{
	const struct cosy_file *file;
	int err = lua_image(&file, vm->run->error, RUN_ERROR_LEN);

	if (err)
		return err == -ENOSYS && vm->another ? -EOPNOTSUPP : err;
	err = place(vm, file);
	if (err || vm->kept)
		return err;
	return lua_vm_load(vm) ?: load_script(vm);
}

/* On failure *is_kept says whether an earlier script was the beginning. */
static int create(struct run *run, const struct engine_image *source, bool anew, bool *is_kept)
{
	struct vm *vm;
	int err;

	vm = calloc(1, sizeof(*vm));
	if (!vm)
		return -ENOMEM;
	vm->run = run;
	vm->anew = anew || run->flags & SYSCRIPT_CHECK || !compiles();
	vm->source = source;
	vm->another = source->format == LUA_HOST_OR_ANOTHER;
	vm->backend = vm->another ? SYSCRIPT_BACKEND_AUTO : source->format;
	run->vm = (struct engine_vm *)vm;
	err = make_vm(vm);
	vm->source = NULL;
	*is_kept = vm->kept;
	if (err) {
		lua_destroy(run->vm);
		run->vm = NULL;
	}
	return err;
}

/* Its code may be more than there is room for, while the interpreter needs none. */
static int lua_create(struct run *run, const struct engine_image *source)
{
	bool is_kept;
	int err = create(run, source, false, &is_kept);

	if (err && is_kept)
		err = create(run, source, true, &is_kept);
	return err;
}

struct script *lua_host_pin(int fd)
{
	struct script *script = user_fd_get(fd);

	if (!script)
		return NULL;
	if (script->program->engine == &lua_engine) {
		user_fd_pin(script);
		return script;
	}
	user_fd_put(script);
	return NULL;
}

static void lua_end(struct engine_vm *vm)
{
	confined_engine.end(lua_vm_of(vm)->inner);
}

/* Copies the kernel's clock and counters, before callers read them. */
static void take_counters(struct run *run, const struct syscript_info *info)
{
	WRITE_ONCE(run_priv(run)->kernel_runs, info->state == SYSCRIPT_STATE_RUNNING);
	WRITE_ONCE(run->time, info->run_time);
	WRITE_ONCE(run->syscalls, info->syscalls);
	WRITE_ONCE(run->preempt_max, info->preempt_max);
}

/* @which counter in the arena, unless the script has overwritten its address. */
static uint64_t memory_of(const struct vm *vm, unsigned int which)
{
	const uint64_t *memory = vm->call ? READ_ONCE(vm->call->memory) : NULL;
	uintptr_t offset = (uintptr_t)memory - (uintptr_t)vm->arena;

	if (!memory)
		return 0;
	return offset <= (1UL << vm->shift) - 16 && offset % 8 == 0 ? memory[which] : 0;
}

static void lua_stats(struct engine_vm *engine_vm, struct engine_stats *stats)
{
	struct vm *vm = lua_vm_of(engine_vm);
	struct engine_stats inner = { 0 };
	struct syscript_info info;

	if (vm->inner) {
		confined_engine.stats(vm->inner, &inner);
	} else if (!vm->kernel.registered || compound_info(&vm->kernel, &info)) {
		WRITE_ONCE(run_priv(vm->run)->kernel_runs, false);
	} else {
		inner.counters[0] = info.counters[0].value;
		inner.counters[1] = info.counters[1].value;
		take_counters(vm->run, &info);
	}
	stats->memory = memory_of(vm, 0);
	stats->memory_peak = memory_of(vm, 1);
	stats->counters[0] = inner.counters[0];
	stats->counters[1] = inner.counters[1];
}

const struct engine_ops lua_engine = {
	.name = "confined",
	.id = SYSCRIPT_LUA_ON_CONFINED,
	.formats = LUA_HOST_OR_ANOTHER + 1,
	.contexts = IN_PROCESS,
	.counters = { "mcode", "pinned" },
	.held = 1 << 0 | 1 << 1,
	.create = lua_create,
	.call = lua_vm_call,
	.end = lua_end,
	.stats = lua_stats,
	.destroy = lua_destroy,
};
