// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * See lua_host.h.  The arena, from its beginning:
 *
 *   a page that nothing lies in, so that 0 is no address
 *   the compound's data
 *   the call, and for each slot of calls in the kernel what is its own
 *   memory for Lua: as much as the limit says
 *   from the next page on: the script
 *   the compound's stack
 *
 * All that the script can write is in there, so what is read there is not believed.
 */
#include <errno.h>
#include <linux/syscript_image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua-runtime/runtime.h"
#include "compound.h"
#include "lua/place.h"
#include "lua_base.h"
#include "lua_host.h"
#include "lua_image.h"
#include "user/arena.h"
#include "user/turn.h"
#include "user/user.h"

#define PAGE		4096UL
#define ARENA_START	PAGE
/*
 * Enough for LUAI_MAXCCALLS, 200, calls of string.gsub() by itself; after half of them the stack
 * is left, where it can be (lua-runtime/finish.h).
 */
#define STACK_SIZE	(640U << 10)
#define NATIVE_SIZE	(192U << 10)
/*
 * And for compiled functions that call one another, so many bytes and frames: what is
 * deeper is interpreted, so that it ends by an error.
 */
#define COMPILED_STACK	(96U << 10)
#define COMPILED_NATIVE	(COMPILED_STACK / 64 * 40)
#define STACK_SPARE	64
/* user/turn.h's, and that of whoever has the turn. */
#define OWN_SLOT	TURN_SLOTS
#define SLOTS		(TURN_SLOTS + 1)
/* For large buffers; they stay when one engine takes another's place. */
#define LARGE_SIZE	(768U << 10)
/* The image and machine code of up to twice its size; messages of batches, and the rest. */
#define CODE_FACTOR	3
#define CODE_BASE	(NATIVE_SIZE + COMPILED_NATIVE + (256UL << 10))

/**
 * struct vm - a script
 * @backend: the one that the caller has asked for
 * @inner:   the compound in this process, or NULL
 * @kernel:  or in the kernel
 * @base:    Lua, which its image extends
 * @ios:     for each slot, and @frames: where the compound's argument leads then
 * @is_loaded: its top level has run
 * @another: LUA_HOST_OR_ANOTHER, and nothing of the script has run
 */
struct vm {
	struct run *run;
	enum syscript_backend backend;
	struct engine_vm *inner;
	struct compound kernel;
	struct lua_base *base;
	struct image_header *image;
	size_t image_len;
	char *arena, *at;		/* what is free of it starts here */
	uint32_t shift;
	struct runtime_call *call;
	struct runtime_io *ios, **frames;
	bool is_loaded, another;
	struct origins origins;		/* of what is compiled */
};

static struct vm *vm_of(struct engine_vm *vm)
{
	return (struct vm *)vm;
}

/* -- The arena -------------------------------------------------------------------- */

/* There is enough: make_arena() has asked for all that is taken. */
static void *take_memory(struct vm *vm, size_t size)
{
	char *p = vm->at;

	vm->at += (size + 15) & -16UL;
	return p;
}

static int make_arena(struct vm *vm, const struct cosy_file *file, size_t source_len)
{
	size_t size = ARENA_START + file->memory_size + file->align +
		      STACK_SIZE + COMPILED_STACK + STACK_SPARE +
		      sizeof(struct runtime_call) + SYSCRIPT_NAME_LEN +
		      SLOTS * (sizeof(struct runtime_io) + sizeof(void *)) +
		      source_len + 256 + vm->run->memory_limit + PAGE;

	vm->shift = IMAGE_ARENA_SHIFT_MIN;
	while (1UL << vm->shift < size)
		vm->shift++;
	vm->arena = arena_map(vm->shift);
	if (!vm->arena)
		return -ENOMEM;
	vm->at = vm->arena + ARENA_START;
	return 0;
}

static int place_compound(struct vm *vm, const struct cosy_file *file)
{
	const struct image_header header = {
		.arena_shift = vm->shift,
		.stack_end = (1UL << vm->shift) - STACK_SPARE,
		.stack_size = STACK_SIZE + COMPILED_STACK,
		.native_size = NATIVE_SIZE + COMPILED_NATIVE,
	};
	char *data = vm->arena + LUA_DATA_OFFSET(file);

	vm->at = data + file->memory_size;
	take_memory(vm, -(unsigned long)vm->at & 15);
	vm->base = lua_base_get(file, data - vm->arena, &header);
	if (vm->base)
		vm->image = lua_base_extend(vm->base, &vm->image_len);
	if (!vm->image)
		return -ENOMEM;
	if (!lua_base_open(vm->base, vm->run->memory_limit, vm->arena))
		file_load_data(file, data);
	return 0;
}

static void place_slots(struct vm *vm)
{
	vm->ios = take_memory(vm, SLOTS * sizeof(*vm->ios));
	vm->frames = take_memory(vm, SLOTS * sizeof(*vm->frames));
	for (int i = 0; i < SLOTS; i++) {
		vm->frames[i] = &vm->ios[i];
		vm->ios[i].call = vm->call;
	}
}

static void place_call(struct vm *vm, const struct engine_image *source)
{
	struct run *run = vm->run;
	long large = run_scratch(run);
	struct runtime_call *call = take_memory(vm, sizeof(*call));
	char name[SYSCRIPT_NAME_LEN + 1], *text;
	int len = snprintf(name, sizeof(name), "@%s", run->name[0] ? run->name : "script");

	vm->call = call;
	place_slots(vm);
	vm->image->stop = (char *)&call->stop - vm->arena;
	call->version = RUNTIME_VERSION;
	call->size = sizeof(*call);
	call->only = run->only;
	call->libraries = run->libraries;
	memcpy(call->calls, run->calls, sizeof(call->calls));
	call->check = run->flags & SYSCRIPT_CHECK;
	call->another = vm->another;
	call->engine = 0;
	call->arena = (unsigned long)vm->arena;
	call->arena_size = 1UL << vm->shift;
	call->floor = (unsigned long)vm->arena + vm->image->stack_end - COMPILED_STACK;
	call->large = large > 0 ? large : 0;
	call->large_size = LARGE_SIZE;
	call->heap_size = run->memory_limit;
	call->heap = take_memory(vm, run->memory_limit);
	take_memory(vm, -(unsigned long)vm->at & (PAGE - 1));
	text = take_memory(vm, source->len + 1);
	call->source = memcpy(text, source->data, source->len);
	call->source_len = source->len;
	call->name = memcpy(take_memory(vm, sizeof(name)), name, len + 1);
}

/* -- The engine ------------------------------------------------------------------- */

/* The limit is of what the script has, which is in the arena; not of its runtime. */
static int load_here(struct vm *vm)
{
	struct engine_image image = {
		.data = (const char *)vm->image, .len = vm->image_len,
		.shared = (unsigned long)vm->arena, .shared_len = 1UL << vm->shift,
	};
	struct run *run = vm->run;
	unsigned long limit = run->memory_limit;
	unsigned int flags = run->flags;
	int err = lua_base_here(vm->base, &image.base, run->error);

	if (err)
		return err;
	run->memory_limit = ~0UL;
	run->flags &= ~SYSCRIPT_CHECK;
	err = confined_engine.create(run, &image);
	run->memory_limit = limit;
	run->flags = flags;
	vm->inner = err ? NULL : run->vm;
	vm->call->engine += !err;
	run->vm = (struct engine_vm *)vm;
	return err;
}

static int register_in_kernel(struct vm *vm, struct compound *kernel)
{
	struct run *run = vm->run;
	struct syscript_register reg = {
		.image = (unsigned long)vm->image, .image_len = vm->image_len,
		.memory_limit = CODE_FACTOR * vm->image_len + CODE_BASE,
		.time_limit = vm->is_loaded ? run->call_time_limit : run->time_limit,
		.wall_limit = run->wall_limit, .grace = run->grace,
		.error = (unsigned long)run->error, .error_len = RUN_ERROR_LEN,
		.shared = (unsigned long)vm->arena, .shared_len = 1UL << vm->shift,
	}, again;
	int err;

	snprintf(reg.name, sizeof(reg.name), "%s", run->name);
	if (run->only) {
		reg.flags |= SYSCRIPT_ONLY;
		reg.libraries = run->libraries;
		memcpy(reg.calls, run->calls, sizeof(reg.calls));
	}
	again = reg;
	err = lua_base_register(vm->base, kernel, &reg);
	if (err != -EINVAL || reg.time_limit == run->call_time_limit)
		return err;
	/* The module may allow less than a registration may take here. */
	again.time_limit = run->call_time_limit;
	return lua_base_register(vm->base, kernel, &again);
}

static int load_in_kernel(struct vm *vm)
{
	int err = register_in_kernel(vm, &vm->kernel);

	if (err)
		return err;
	run_own(vm->run)->kernel_id = vm->kernel.id;
	vm->call->engine++;
	return 0;
}

/*
 * As for LuaJIT's scripts; and where less memory may be locked than the arena takes, the
 * user's share of scripts is used up, or others have taken the room for machine code, of
 * which run->error then tells.
 */
static int load_anywhere(struct vm *vm)
{
	int err = load_in_kernel(vm);
	bool scarce = err == -ENOMEM || err == -ENOBUFS || err == -EDQUOT;

	if (!scarce && !device_unavailable(err))
		return err;
	if (!scarce)
		vm->run->error[0] = '\0';
	return load_here(vm);
}

/* The text is left out where it is as ordinary as that there is no device. */
static int load_or_leave(struct vm *vm)
{
	struct run *run = vm->run;
	int err = load_in_kernel(vm);

	if (!err)
		return 0;
	if (device_unavailable(err))
		run->error[0] = '\0';
	else if (!run->error[0])
		snprintf(run->error, RUN_ERROR_LEN, "%s", syscript_strerror(err));
	return -EOPNOTSUPP;
}

static int load_engine(struct vm *vm)
{
	if (vm->another)
		return load_or_leave(vm);
	switch (vm->backend) {
	case SYSCRIPT_BACKEND_USER:
		return load_here(vm);
	case SYSCRIPT_BACKEND_KERNEL:
		return load_in_kernel(vm);
	case SYSCRIPT_BACKEND_AUTO:
		break;
	}
	return compound_engine_is_there() ? load_anywhere(vm) : load_here(vm);
}

static int enter_here(struct vm *vm)
{
	struct syscript_call call = {
		.nargs = 2, .args = { 0, (intptr_t)&vm->frames[OWN_SLOT] },
	};

	return confined_engine.call(vm->inner, &call);
}

/*
 * All that the script has is in the arena: if the kernel does not begin the run, because
 * the thread is watched, or the program has closed descriptors that it does not know,
 * the same run is made here.
 */
static int enter_kernel(struct vm *vm)
{
	struct syscript_call call;
	int err;

	compound_call_begin(&call, 0, (intptr_t)&vm->frames[OWN_SLOT], true);
	err = device_call(vm->kernel.fd, &call);
	if (!err)
		return 0;
	if (compound_has_failed(&vm->kernel, err, vm->run->error, RUN_ERROR_LEN) ||
	    vm->backend == SYSCRIPT_BACKEND_KERNEL)
		return err;
	if (vm->another)
		return -EOPNOTSUPP;
	compound_close(&vm->kernel);
	run_own(vm->run)->kernel_id = 0;
	return load_here(vm) ?: enter_here(vm);
}

/* Where the script was, at the instruction @insn of the image or of its base. */
static void tell_place(struct vm *vm, unsigned int insn, char *text, size_t size)
{
	const struct runtime runtime = {
		.arena = vm->arena, .size = 1UL << vm->shift, .state = (uintptr_t)vm->call->state,
	};
	unsigned int base = lua_base_header(vm->base)->ninsns;

	runtime_place(&runtime, &vm->origins, insn < base ? PLACE_IN_RUNTIME : insn - base, text,
		      size);
	if (!*text)
		snprintf(text, size, "%s: ", vm->run->name[0] ? vm->run->name : "script");
}

static void tell_limit(struct run *run, const char *place, const char *what, unsigned long ns)
{
	snprintf(run->error, RUN_ERROR_LEN, "%s%s %lu ms", place, what, ns / 1000000);
}

/* As LuaJIT's engine does: an instruction of Lua's own says nothing to a script's author. */
static void tell_end(struct vm *vm, int err)
{
	struct run *run = vm->run;
	char text[256], place[256];
	int where = 0;
	unsigned int insn;

	sscanf(run->error, "insn %u: %n", &insn, &where);
	if (!where)
		return;
	tell_place(vm, insn, place, sizeof(place));
	switch (err) {
	case -ETIME:
		return tell_limit(run, place, "over the time limit of", run->time_limit);
	case -ETIMEDOUT:
		return tell_limit(run, place, "over the wall-clock limit of", run->wall_limit);
	case -EINTR:
		return tell_limit(run, place, "a signal was pending for", run->grace);
	}
	snprintf(text, sizeof(text), "%s", run->error + where);
	snprintf(run->error, RUN_ERROR_LEN, "%s%s", place, text);
}

static void take_output(struct vm *vm)
{
	struct output *output = &vm->call->output;
	unsigned int len = output->len;

	output_write(&vm->run->output, output->text, len < OUTPUT_LEN ? len : OUTPUT_LEN);
	output->len = 0;
	output->cut = 0;
}

/* How the runtime's call has ended: 0, or -errno. */
static int outcome(const struct runtime_io *io)
{
	switch (io->failed) {
	case 0:
		return 0;
	case RUNTIME_MEMORY:
		return -ENOBUFS;
	case RUNTIME_RANGE:
		return -ERANGE;
	case RUNTIME_LEFT:
		return -EOPNOTSUPP;
	case RUNTIME_BROKEN:
		return -ENOTRECOVERABLE;
	}
	return -EPROTO;
}

/* A run has ended with @err: 0, or -errno with the text. */
static int after(struct vm *vm, const struct runtime_io *io, int err)
{
	take_output(vm);
	if (err) {
		tell_end(vm, err);
		return err;
	}
	err = outcome(io);
	if (err)
		snprintf(vm->run->error, RUN_ERROR_LEN, "%.*s", RUNTIME_ERROR_LEN - 1,
			 vm->call->error);
	return err;
}

static inline void begin_call(struct runtime_io *io, unsigned int n, const int64_t *args)
{
	unsigned int i;

	io->failed = 0;
	io->nargs = n;
	for (i = 0; i < n; i++)
		io->args[i] = args[i];
}

static int enter(struct vm *vm)
{
	vm->run->error[0] = '\0';
	vm->ios[OWN_SLOT].failed = 0;
	return after(vm, &vm->ios[OWN_SLOT], vm->inner ? enter_here(vm) : enter_kernel(vm));
}

/* -- Compiled functions ----------------------------------------------------------- */

static bool reload_here(struct vm *vm)
{
	struct engine_vm *old = vm->inner;

	if (load_here(vm)) {
		vm->inner = old;
		return false;
	}
	confined_engine.destroy(old);
	return true;
}

/* Both are there for a moment, in which they share the arena: if the limits let them. */
static bool reload_in_kernel(struct vm *vm)
{
	struct compound old = vm->kernel;
	int err = load_in_kernel(vm);

	compound_close(&old);
	return !err || !load_in_kernel(vm);
}

static bool load_again(struct vm *vm)
{
	return vm->inner ? reload_here(vm) : reload_in_kernel(vm);
}

/* With @image in place of the one that it has: true.  Or that stays, if it can. */
static bool reload(struct vm *vm, struct image_header *image, size_t len, int *err)
{
	struct image_header *old = vm->image;
	size_t old_len = vm->image_len;

	image->stop = old->stop;
	vm->image = image;
	vm->image_len = len;
	if (load_again(vm)) {
		free(old);
		return true;
	}
	vm->image = old;
	vm->image_len = old_len;
	free(image);
	vm->run->error[0] = '\0';
	if (!vm->inner)
		*err = load_engine(vm);
	return false;
}

/* The image stays, and the kernel has had the registration's time limit for it. */
static int limit_calls(struct vm *vm)
{
	if (vm->inner || vm->run->time_limit == vm->run->call_time_limit ||
	    reload_in_kernel(vm))
		return 0;
	return load_engine(vm);
}

/* For tests of what is not compiled. */
static bool compiles(void)
{
	const char *said = secure_getenv("SYSCRIPT_LUA_COMPILE");

	return !said || strcmp(said, "no");
}

bool lua_host_runtime(struct engine_vm *engine_vm, struct runtime *runtime)
{
	const struct vm *vm = vm_of(engine_vm);

	*runtime = (struct runtime){
		.arena = vm->arena, .size = 1UL << vm->shift, .state = (uintptr_t)vm->call->state,
		.replaced = (uintptr_t)vm->call->replaced, .found = (uintptr_t)vm->call->found,
	};
	return runtime_read(runtime, (uintptr_t)vm->call->exports, &runtime->exports,
			    sizeof(runtime->exports));
}

/*
 * The script has run, so its functions and all that they use exist.  After any failure
 * here the interpreter runs them.
 */
static int compile_script(struct vm *vm)
{
	struct origins origins = { 0 };
	struct image_header *image;
	struct runtime runtime;
	int err = 0;
	size_t len;

	if (!compiles() || !lua_host_runtime((struct engine_vm *)vm, &runtime))
		return limit_calls(vm);
	image = runtime_compile(&runtime, lua_base_header(vm->base), lua_base_table(vm->base),
				&len, &origins);
	if (!image) {
		err = limit_calls(vm);
	} else if (reload(vm, image, len, &err)) {
		runtime_attach(&runtime);
		vm->origins = origins;
		origins.at = NULL;
	}
	free(origins.at);
	runtime_free(&runtime);
	return err;
}

/* -- engine.h --------------------------------------------------------------------- */

static void lua_destroy(struct engine_vm *engine_vm)
{
	struct vm *vm = vm_of(engine_vm);

	if (vm->inner)
		confined_engine.destroy(vm->inner);
	compound_close(&vm->kernel);
	if (vm->arena)
		arena_unmap(vm->arena, vm->shift);
	free(vm->image);
	free(vm->origins.at);
	if (vm->base)
		lua_base_put(vm->base);
	free(vm);
}

static int open_lua(struct vm *vm)
{
	unsigned long limit = vm->run->memory_limit;
	int err;

	if (vm->call->opened)
		return 0;
	err = enter(vm);
	if (!err)
		lua_base_keep(vm->base, limit, vm->arena, ARENA_START,
			      vm->call->heap + limit - vm->arena);
	return err;
}

static int run_top(struct vm *vm)
{
	int err = open_lua(vm) ?: enter(vm);

	vm->another = false;
	vm->is_loaded = true;
	return err || vm->call->check ? err : compile_script(vm);
}

static int load_script(struct vm *vm)
{
	/* Why it is not in the kernel, if there is more to say than that there is no device. */
	char *told = vm->run->error[0] ? strdup(vm->run->error) : NULL;
	int err = run_top(vm);

	if (!err)
		snprintf(vm->run->error, RUN_ERROR_LEN, "%s", told ?: "");
	free(told);
	return err == -EPROTO || err == -ERANGE ? -ENOEXEC : err;
}

static int make_vm(struct vm *vm, const struct engine_image *source)
{
	const struct cosy_file *file;
	int err = lua_image(&file, vm->run->error, RUN_ERROR_LEN);

	if (err)
		return err == -ENOSYS && vm->another ? -EOPNOTSUPP : err;
	err = make_arena(vm, file, source->len) ?: place_compound(vm, file);
	if (err)
		return err;
	place_call(vm, source);
	return load_engine(vm) ?: load_script(vm);
}

static int lua_create(struct run *run, const struct engine_image *source)
{
	struct vm *vm;
	int err;

	vm = calloc(1, sizeof(*vm));
	if (!vm)
		return -ENOMEM;
	vm->run = run;
	vm->another = source->format == LUA_HOST_OR_ANOTHER;
	vm->backend = vm->another ? SYSCRIPT_BACKEND_AUTO : source->format;
	run->vm = (struct engine_vm *)vm;
	err = make_vm(vm, source);
	if (err) {
		lua_destroy(run->vm);
		run->vm = NULL;
	}
	return err;
}

/* Up to @max of them, which the script may be writing.  Returns how many. */
static inline unsigned int take_results(const struct runtime_io *io, unsigned int max,
					int64_t *results)
{
	unsigned int i, n = READ_ONCE(io->nresults);

	if (n > SYSCRIPT_RESULTS_MAX)
		n = SYSCRIPT_RESULTS_MAX;
	for (i = 0; i < n && i < max; i++)
		results[i] = io->results[i];
	return n;
}

static int lua_call(struct engine_vm *engine_vm, struct syscript_call *call)
{
	struct vm *vm = vm_of(engine_vm);
	int err;

	begin_call(&vm->ios[OWN_SLOT], call->nargs, (const int64_t *)call->args);
	err = enter(vm);
	if (!err)
		call->nresults = take_results(&vm->ios[OWN_SLOT], SYSCRIPT_RESULTS_MAX,
					      (int64_t *)call->results);
	return err;
}

/* -- Calls in the kernel, see user/turn.h ------------------------------------------- */

/* With the turn: a call that ended with @err, as end_call(). */
static int end_owning(struct script *script, struct vm *vm, const struct runtime_io *io, int err)
{
	struct program *program = script->program;

	if (err && !compound_has_failed(&vm->kernel, err, vm->run->error, RUN_ERROR_LEN))
		return -ESTALE;
	err = after(vm, io, err);
	if (!err)
		return 0;
	program_failed(program, err);
	return user_failed(script, err);
}

/*
 * A call that ended with @err has failed, or left output.
 * Returns 0, -errno, or -ESTALE: nothing has run.
 */
__attribute__((noinline))
static int end_call(struct script *script, unsigned long turn, struct vm *vm, int err)
{
	const struct runtime_io *io = &vm->ios[ticket_slot(turn)];

	signals_block();
	if (!turn_regain(script, turn)) {
		err = err ?: outcome(io);
	} else {
		err = end_owning(script, vm, io, err);
		turn_lend(script);
	}
	signals_unblock();
	return err;
}

static inline int call_in_slot(struct script *script, unsigned long turn,
			       const struct expected *file, unsigned int nargs,
			       const int64_t *args, unsigned int nresults_max, int64_t *results)
{
	struct vm *vm = vm_of(script->program->vm);
	unsigned int slot = ticket_slot(turn);
	struct syscript_call inner;	/* what is not passed is not read */
	struct runtime_io *io;
	int err;

	if (!vm || !vm->kernel.registered)
		return -ESTALE;
	io = &vm->ios[slot];
	vm->run->error[0] = '\0';
	begin_call(io, nargs, args);
	device_call_begin(&inner, 2);
	inner.args[0] = 0;
	inner.args[1] = (intptr_t)&vm->frames[slot];
	err = device_call_expecting(vm->kernel.fd, &inner, file);
	if (err == -ESTALE)
		return err;
	WRITE_ONCE(script->program->calls, script->program->calls + 1);
	if (err || io->failed || vm->call->output.len)
		err = end_call(script, turn, vm, err);
	return err ?: (int)take_results(io, nresults_max, results);
}

/* Another process's script the kernel does not call: it has that process's memory. */
static inline int call_quick(struct script *script, unsigned long turn,
			     const struct expected *file, unsigned int nargs,
			     const int64_t *args, unsigned int nresults_max, int64_t *results)
{
	int ret = call_in_slot(script, turn, file, nargs, args, nresults_max, results);

	turn_end(script, turn);
	return ret;
}

int lua_call_quick(int fd, unsigned int nargs, const int64_t *args, unsigned int nresults_max,
		   int64_t *results, lua_call_slowly *slowly)
{
	struct script *script = user_fd_quick(fd);
	struct expected file;
	unsigned long turn;
	int ret = -ESTALE;

	if (!script)
		return slowly(fd, nargs, args, nresults_max, results);
	file = (struct expected){ fd, script->dev, script->ino };
	/* It may be another script: none to wait for. */
	turn = turn_try(script, turn_note(__builtin_frame_address(0), true));
	if (turn)
		ret = call_quick(script, turn, &file, nargs, args, nresults_max, results);
	else
		turn_tidy_own(script, __builtin_frame_address(0));
	user_fd_put(script);
	return ret == -ESTALE ? slowly(fd, nargs, args, nresults_max, results) : ret;
}

struct script *lua_keep(int fd)
{
	struct script *script = user_fd_get(fd);

	if (!script || run_own(script->program->run)->kernel_id)
		return script;
	user_fd_put(script);
	return NULL;
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

int lua_call_kept(struct script *script, bool holds, unsigned int nargs, const int64_t *args,
		  unsigned int nresults_max, int64_t *results)
{
	struct expected file = expected_script(run_own(script->program->run)->kernel_id);
	const void *frame = __builtin_frame_address(0);
	unsigned long note = turn_note(frame, holds), turn;

	if (!file.ino)
		return -ESTALE;
	turn = turn_try(script, note) ?: turn_wait(script, frame, note);
	if (!turn)
		return -EDEADLK;
	return call_quick(script, turn, &file, nargs, args, nresults_max, results);
}

static void lua_end(struct engine_vm *vm)
{
	confined_engine.end(vm_of(vm)->inner);
}

/* Before its callers look at these: the clock and the counters are the kernel's. */
static void take_counters(struct run *run, const struct syscript_info *info)
{
	WRITE_ONCE(run_own(run)->kernel_runs, info->state == SYSCRIPT_STATE_RUNNING);
	WRITE_ONCE(run->time, info->run_time);
	WRITE_ONCE(run->syscalls, info->syscalls);
	WRITE_ONCE(run->preempt_max, info->preempt_max);
}

/* In the arena, if the script has left it there. */
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
	struct vm *vm = vm_of(engine_vm);
	struct engine_stats inner = { 0 };
	struct syscript_info info;

	if (vm->inner) {
		confined_engine.stats(vm->inner, &inner);
	} else if (!vm->kernel.registered || compound_info(&vm->kernel, &info)) {
		WRITE_ONCE(run_own(vm->run)->kernel_runs, false);
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
	.call = lua_call,
	.end = lua_end,
	.stats = lua_stats,
	.destroy = lua_destroy,
};
