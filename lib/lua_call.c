// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Calls of scripts. Most scripts are in the kernel, and a call must cost less than the mode
 * switches that it saves. So lua_call_quick() neither checks the descriptor nor takes a lock of
 * the library: the kernel checks the descriptor. All other calls go through the engine,
 * lua_vm_call().
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend_select.h"
#include "lua_shared_image.h"
#include "lua_host.h"
#include "lua_vm.h"
#include "user/turn.h"

/* -- Calls through the engine ----------------------------------------------------------- */

static int enter_here(struct vm *vm)
{
	struct syscript_call call = {
		.nargs = 2, .args = { 0, (intptr_t)&vm->frames[OWN_SLOT] },
	};

	return confined_engine.call(vm->inner, &call);
}

/* As compound_has_failed(). An observer who stopped the run would stop the next scripts', too. */
static bool has_failed(struct vm *vm, int err)
{
	if (!compound_has_failed(&vm->kernel, err, vm->run->error, RUN_ERROR_LEN))
		return false;
	if (err == -EOPNOTSUPP)
		choose_is_watched();
	return true;
}

/*
 * The script's whole state is in the arena. If the kernel does not begin the run, because the
 * thread is watched, or the program has closed unknown descriptors, the same run is made here.
 */
static int enter_kernel(struct vm *vm)
{
	struct syscript_call call;
	int err;

	compound_call_begin(&call, 0, (intptr_t)&vm->frames[OWN_SLOT], true);
	err = device_call(vm->kernel.fd, &call);
	if (!err)
		return 0;
	if (has_failed(vm, err) || vm->backend == SYSCRIPT_BACKEND_KERNEL)
		return err;
	if (vm->another)
		return -EOPNOTSUPP;
	compound_close(&vm->kernel);
	run_priv(vm->run)->kernel_id = 0;
	return lua_vm_load_here(vm) ?: enter_here(vm);
}

/*
 * Writes the position of the script in its source, at instruction @insn of the image or of its
 * base.
 */
static void tell_place(struct vm *vm, unsigned int insn, char *text, size_t size)
{
	const struct runtime runtime = {
		.arena = vm->arena, .size = 1UL << vm->shift, .state = (uintptr_t)vm->call->state,
	};
	unsigned int base = shared_image_header(vm->base)->ninsns;
	u64 *ended = vm->call->ended;

	runtime_place(&runtime, &vm->origins, insn < base ? PLACE_IN_RUNTIME : insn - base, ended,
		      text, size);
	ended[0] = 0;
	if (!*text)
		snprintf(text, size, "%s: ", vm->run->name[0] ? vm->run->name : "script");
}

static void tell_limit(struct run *run, const char *place, const char *what, unsigned long ns)
{
	snprintf(run->error, RUN_ERROR_LEN, "%s%s %lu ms", place, what, ns / 1000000);
}

/*
 * Reports as LuaJIT's engine does: an instruction of the runtime means nothing to a script's
 * author.
 */
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
	struct output *output = &vm->call->output, *kept;
	unsigned int len = output->len;

	/* Without memory for it, the output is lost. */
	kept = len ? run_output(vm->run) : NULL;
	if (kept)
		output_write(kept, output->text, len < OUTPUT_LEN ? len : OUTPUT_LEN);
	output->len = 0;
	output->cut = 0;
}

/* Converts the runtime's result of a call: 0, or -errno. */
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

static const char wrong_version[] =
	"lua.image does not fit this library: link the program with the library that is installed";

/* Completes a run that ended with @err: returns 0, or -errno with the text. */
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
			 io->failed == RUNTIME_VERSIONS ? wrong_version : vm->error);
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

int lua_vm_enter(struct vm *vm)
{
	vm->run->error[0] = '\0';
	vm->ios[OWN_SLOT].failed = 0;
	return after(vm, &vm->ios[OWN_SLOT], vm->inner ? enter_here(vm) : enter_kernel(vm));
}

/* Stores up to @max results, which the script may be overwriting. Returns their number. */
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

int lua_vm_call(struct engine_vm *engine_vm, struct syscript_call *call)
{
	struct vm *vm = lua_vm_of(engine_vm);
	int err;

	begin_call(&vm->ios[OWN_SLOT], call->nargs, (const int64_t *)call->args);
	err = lua_vm_enter(vm);
	if (!err)
		call->nresults = take_results(&vm->ios[OWN_SLOT], SYSCRIPT_RESULTS_MAX,
					      (int64_t *)call->results);
	return err;
}

/* -- Quick calls in the kernel ----------------------------------------------------------- */

/* As end_call(), with the turn. */
static int end_owning(struct script *script, struct vm *vm, const struct runtime_io *io, int err)
{
	struct program *program = script->program;

	vm->run->error[0] = '\0';
	if (err && !has_failed(vm, err))
		return -ESTALE;
	err = after(vm, io, err);
	if (!err)
		return 0;
	program_failed(program, err);
	return user_failed(script, err);
}

/*
 * A call that ended with @err has failed, left output, or follows a failed call: only now is it
 * known that it was this script's, whose texts it replaces.
 * Returns 0, -errno, or -ESTALE: nothing has run.
 */
__attribute__((noinline))
static int end_call(struct script *script, struct turn turn, struct vm *vm, int err)
{
	const struct runtime_io *io = &vm->ios[turn.slot];

	signals_block();
	if (!turn_regain(script, turn.word)) {
		err = err ?: outcome(io);
	} else {
		err = end_owning(script, vm, io, err);
		turn_lend(script);
	}
	signals_unblock();
	return err;
}

static inline int call_in_slot(struct script *script, struct turn turn,
			       const struct expected *file, unsigned int nargs,
			       const int64_t *args, unsigned int nresults_max, int64_t *results)
{
	struct vm *vm = lua_vm_of(script->program->vm);
	struct syscript_call inner;	/* fields that are not passed are not read */
	struct runtime_io *io;
	int err;

	if (!vm || !vm->kernel.registered)
		return -ESTALE;
	io = &vm->ios[turn.slot];
	begin_call(io, nargs, args);
	device_call_begin(&inner, 2);
	inner.args[0] = 0;
	inner.args[1] = (intptr_t)&vm->frames[turn.slot];
	err = device_call_expecting(vm->kernel.fd, &inner, file);
	if (err == -ESTALE)
		return err;
	WRITE_ONCE(script->program->calls, script->program->calls + 1);
	if (err || io->failed || vm->call->output.len || vm->run->error[0])
		err = end_call(script, turn, vm, err);
	return err ?: (int)take_results(io, nresults_max, results);
}

/* The kernel does not run another process's script, whose memory is that process's. */
static inline int call_quick(struct script *script, struct turn turn,
			     const struct expected *file, unsigned int nargs,
			     const int64_t *args, unsigned int nresults_max, int64_t *results)
{
	int ret = call_in_slot(script, turn, file, nargs, args, nresults_max, results);

	turn_end(script, turn);
	return ret;
}

int lua_call_quick(int fd, unsigned int nargs, const int64_t *args, unsigned int nresults_max,
		   int64_t *results)
{
	struct script *script = user_fd_quick(fd);
	struct expected file;
	struct turn turn;
	int ret = -ESTALE;

	if (!script)
		return -ESTALE;
	file = (struct expected){ fd, script->dev, script->ino };
	/* The descriptor may be another script's by now, so this does not wait for a turn. */
	turn = turn_try(script, turn_note(__builtin_frame_address(0), true));
	if (turn.word)
		ret = call_quick(script, turn, &file, nargs, args, nresults_max, results);
	else
		turn_tidy_own(script, __builtin_frame_address(0));
	user_fd_put(script);
	return ret;
}

struct script *lua_keep(int fd)
{
	struct script *script = user_fd_get(fd);

	if (!script || run_priv(script->program->run)->kernel_id)
		return script;
	user_fd_put(script);
	return NULL;
}

int lua_call_kept(struct script *script, bool holds, unsigned int nargs, const int64_t *args,
		  unsigned int nresults_max, int64_t *results)
{
	struct expected file = expected_script(run_priv(script->program->run)->kernel_id);
	const void *frame = __builtin_frame_address(0);
	unsigned long note = turn_note(frame, holds);
	struct turn turn;

	if (!file.ino)
		return -ESTALE;
	turn = turn_try(script, note);
	if (!turn.word)
		turn = turn_wait(script, frame, note);
	if (!turn.word)
		return -EDEADLK;
	return call_quick(script, turn, &file, nargs, args, nresults_max, results);
}
