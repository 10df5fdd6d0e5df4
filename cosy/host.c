// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The program's side of compounds: the shared buffer, each thread's part of it, and calls of
 * segments.
 *
 * The arena, from its beginning:
 *
 *   an unused page, so that 0 is not an address
 *   the units' data, and variables that several files use
 *   memory for cosy_malloc(), including a piece for each thread:
 *     struct cosy_piece, then frames of the program's functions, upwards
 *     frames of the compounds, from the end downwards
 *
 * Without room for a thread's piece, or without an engine, segments run natively, as ordinary
 * functions, and frames are in ordinary memory.
 *
 * In the kernel each thread has a script of each unit, whose stack is in its piece.
 * While there is only one thread, its scripts see only the allocated part of the arena, because
 * pinning pages is slow.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include "../include/uapi/syscript_image.h"
#include "../lib/compound.h"
#include "user/lock.h"
#include "user/arena.h"
#include "user/user.h"
#include "cosy.h"
#include "file.h"
#include "heap.h"
#include "host.h"
#include "runtime/runtime.h"

#define ARENA_SHIFT	20		/* unless COSY_ARENA says otherwise */
#define FRAMES_SIZE	(24U << 10)	/* size of a thread's memory for functions of the program */
#define STACK_SPARE	64
#define UNITS_MAX	1024

enum engine { NATIVE, USER, KERNEL };

/* The library's data about a unit. */
struct loaded {
	struct cosy_unit *unit;
	char *data;
	bool native;			/* refused by the kernel: runs natively */
};

static struct {
	pthread_once_t once;
	enum engine engine;		/* guarded by LOCK_COSY while it grows */
	bool forced;			/* the user has chosen it: no other engine may be used */
	struct thread *threads;
	char *arena;			/* NULL without one */
	unsigned long size;		/* 0: there is no arena */
	uintptr_t end;
	struct loaded *units[UNITS_MAX];
	uint64_t nunits;
} cosy = {
	.once = PTHREAD_ONCE_INIT,
};

/* A unit's script for one thread. */
struct thread_script {
	struct compound kernel;
	struct script *here;
};

struct thread {
	char *piece;			/* the thread's piece of the arena, or NULL */
	char *at, *end;			/* room for frames */
	struct large *large;
	bool tried;
	int *errno_at;
	struct thread_script *scripts;	/* scripts of this thread, by unit */
	uint64_t nscripts;
	uintptr_t reach;		/* its scripts see the arena up to here */
	struct thread *next, **before;
};

/* A frame that did not fit into the piece. */
struct large {
	struct large *before;
	void *memory;
};

static __thread struct thread thread;
static pthread_key_t thread_key;

/* -- The arena ------------------------------------------------------------------ */

static void fail(const char *unit, const char *text)
{
	fprintf(stderr, "%s: compound: %s\n", unit, text);
	abort();
}

static void close_script(struct thread_script *script)
{
	compound_close(&script->kernel);
	if (!script->here)
		return;
	user_fd_put(script->here);
	script->here = NULL;
	user_fd_sweep();
}

static void close_all(struct thread *t)
{
	uint64_t i;

	for (i = 0; i < t->nscripts; i++)
		close_script(&t->scripts[i]);
}

static void thread_end(void *unused)
{
	(void)unused;
	lock_take(LOCK_COSY);
	*thread.before = thread.next;
	if (thread.next)
		thread.next->before = thread.before;
	lock_give(LOCK_COSY);
	close_all(&thread);
	free(thread.scripts);
	cosy_free(thread.piece);
	thread = (struct thread){ .tried = true };
}

static uint32_t wanted_shift(void)
{
	const char *text = getenv("COSY_ARENA");
	uint32_t shift = IMAGE_ARENA_SHIFT_MIN;
	unsigned long size;
	char *end;

	if (!text || !*text)
		return ARENA_SHIFT;
	size = strtoul(text, &end, 0);
	if (*end || !size || size > 1UL << IMAGE_ARENA_SHIFT_MAX)
		fail("COSY_ARENA", "a size in bytes expected, at most 1 GiB");
	while (1UL << shift < size)
		shift++;
	return shift;
}

static void choose_engine(void)
{
	const char *engine = getenv("COSY_ENGINE");

	if (!engine || !*engine)
		cosy.engine = compound_engine_is_there() ? KERNEL : NATIVE;
	else if (!strcmp(engine, "kernel"))
		cosy.engine = KERNEL;
	else if (!strcmp(engine, "user"))
		cosy.engine = USER;
	else if (strcmp(engine, "native"))
		fail("COSY_ENGINE", "'native', 'user' or 'kernel' expected");
	cosy.forced = engine && cosy.engine != NATIVE;
}

/* The user backend frees its copies by itself, once its locks are released. */
static void forget_all(struct thread *t)
{
	uint64_t i;

	for (i = 0; i < t->nscripts; i++) {
		compound_close(&t->scripts[i].kernel);
		t->scripts[i].here = NULL;
	}
}

/* A script belongs to its process: the child's threads register their own. */
void cosy_fork_child(void)
{
	struct thread *t;

	for (t = cosy.threads; t; t = t->next)
		forget_all(t);
	cosy.threads = thread.before ? &thread : NULL;
	thread.next = NULL;
	thread.before = thread.before ? &cosy.threads : NULL;
}

static void start(void)
{
	uint32_t shift;

	pthread_key_create(&thread_key, thread_end);
	choose_engine();
	shift = wanted_shift();
	if (cosy.engine == NATIVE)
		return;
	cosy.arena = arena_map(shift);
	if (!cosy.arena) {
		cosy.engine = NATIVE;
		return;
	}
	cosy.size = 1UL << shift;
	cosy.end = (uintptr_t)cosy.arena + cosy.size;
	heap_add(cosy.arena + 4096, cosy.size - 4096);
}

/* False if there is no arena, because its size is then 0. */
static bool in_arena(const void *p)
{
	return (uintptr_t)p - (uintptr_t)cosy.arena < cosy.size;
}

void *cosy_malloc(size_t size)
{
	pthread_once(&cosy.once, start);
	return cosy.arena ? heap_get(size, 16) : malloc(size);
}

void cosy_free(void *p)
{
	if (in_arena(p))
		heap_put(p);
	else
		free(p);
}

void *cosy_calloc(size_t n, size_t size)
{
	size_t all;
	void *p;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	p = cosy_malloc(all);
	return p ? memset(p, 0, all) : NULL;
}

void *cosy_realloc(void *p, size_t size)
{
	void *moved;

	if (!p)
		return cosy_malloc(size);
	if (!in_arena(p))
		return realloc(p, size);
	moved = cosy_malloc(size);
	if (!moved)
		return NULL;
	memcpy(moved, p, size < heap_size(p) ? size : heap_size(p));
	heap_put(p);
	return moved;
}

/* -- Threads --------------------------------------------------------------------- */

static void thread_start(void)
{
	pthread_once(&cosy.once, start);
	thread.tried = true;
	if (!cosy.arena)
		return;
	thread.piece = heap_get(COSY_PIECE, COSY_PIECE);
	if (!thread.piece)
		return;
	memset(thread.piece, 0, sizeof(struct cosy_piece));
	thread.errno_at = &errno;
	thread.at = thread.piece + 64;
	thread.end = thread.piece + FRAMES_SIZE;
	pthread_setspecific(thread_key, &thread);
	lock_take(LOCK_COSY);
	thread.next = cosy.threads;
	thread.before = &cosy.threads;
	if (thread.next)
		thread.next->before = &thread.next;
	cosy.threads = &thread;
	lock_give(LOCK_COSY);
}

__attribute__((noinline))
static void *push_any(uint64_t size)
{
	struct large *large;

	if (!thread.tried) {
		thread_start();
		return cosy_push(size);
	}
	large = malloc(sizeof(*large));
	if (!large)
		abort();
	large->memory = cosy_malloc(size);
	if (!large->memory)
		large->memory = malloc(size);
	if (!large->memory)
		abort();
	large->before = thread.large;
	thread.large = large;
	return large->memory;
}

void *cosy_push(uint64_t size)
{
	void *frame = thread.at;

	if (__builtin_expect(size > (uint64_t)(thread.end - thread.at), 0))
		return push_any(size);
	thread.at += size;
	return frame;
}

/* Frees @frame, and later ones of functions that were left by longjmp(). */
__attribute__((noinline))
static void pop_large(void *frame)
{
	struct large *large = thread.large;

	while (large) {
		bool last = large->memory == frame;

		thread.large = large->before;
		cosy_free(large->memory);
		free(large);
		if (last)
			break;
		large = thread.large;
	}
}

/* A thread without a piece has large frames only: its @end is NULL. */
void cosy_pop(void *frame)
{
	if (__builtin_expect((uint64_t)(thread.end - (char *)frame - 1) < FRAMES_SIZE, 1))
		thread.at = frame;
	else
		pop_large(frame);
}

/* -- Units ------------------------------------------------------------------------- */

/* The data with its initial contents. */
static char *load_data(const struct cosy_unit *unit)
{
	const struct cosy_file *file = unit->file;
	char *data = cosy.arena ? heap_get(file->memory_size ?: 1, file->align) :
				  aligned_alloc(file->align, (file->memory_size | 1) +
							     file->align);
	uint32_t i;

	if (!data)
		fail(unit->name, "no room for its data: raise COSY_ARENA");
	file_load_data(file, data);
	for (i = 0; i < unit->nvariables; i++)
		*unit->variables[i].pointer = data + unit->variables[i].offset;
	return data;
}

void cosy_unit(struct cosy_unit *unit)
{
	struct loaded *loaded = calloc(1, sizeof(*loaded));

	if (!loaded)
		abort();
	pthread_once(&cosy.once, start);
	loaded->unit = unit;
	loaded->data = load_data(unit);
	lock_take(LOCK_COSY);
	if (cosy.nunits == UNITS_MAX)
		fail(unit->name, "too many source files with compounds");
	unit->number = cosy.nunits++;
	cosy.units[unit->number] = loaded;
	lock_give(LOCK_COSY);
}

void cosy_variable(void **pointer, uint64_t size, uint64_t align, const char *name)
{
	void *home;

	pthread_once(&cosy.once, start);
	if (!cosy.arena)
		return;
	home = heap_get(size, align);
	if (!home)
		fail(name, "no room for this variable: raise COSY_ARENA");
	*pointer = memcpy(home, *pointer, size);
}

/* Done when all variables have their addresses, as constructors of other units may run late. */
static void place_imports(const struct loaded *loaded)
{
	const struct cosy_unit *unit = loaded->unit;
	uint64_t i;

	for (i = 0; i < unit->nimports; i++)
		memcpy(loaded->data + unit->imports[i].offset, unit->imports[i].pointer,
		       sizeof(void *));
}

/* A relocated copy of the image, for the caller to free(). */
static struct image_header *place_image(const struct loaded *loaded, uint32_t shift)
{
	const struct cosy_file *file = loaded->unit->file;
	struct image_header *image = file_place_image(file, loaded->data - cosy.arena);

	if (!image)
		return NULL;
	place_imports(loaded);
	image->arena_shift = shift;
	image->native_size = file->native ?: 32 << 10;
	return image;
}

/* The reason for the end of a segment, as text. */
static const char *reason(const char *text)
{
	int code;

	if (sscanf(text, "aborts with %d", &code) == 1 && code == COSY_CHECK_FAILED)
		return "a check of -fsanitize failed";
	return text;
}

/* Prints "insn 17: ..." with the source line of instruction 17. */
static void tell(const struct cosy_unit *unit, const char *text)
{
	const struct cosy_file *file = unit->file;
	const struct cosy_line *lines = file_part(file, file->lines), *found = NULL;
	char where[512];
	unsigned int insn;
	uint32_t i;

	if (sscanf(text, "insn %u: ", &insn) != 1)
		fail(unit->name, text);
	for (i = 0; i < file->lines.n && lines[i].insn <= insn; i++)
		found = &lines[i];
	if (!found)
		fail(unit->name, text);
	snprintf(where, sizeof(where), "%s:%u",
		 (const char *)file_part(file, file->strings) + found->file, found->line);
	fail(where, reason(strstr(text, ": ") + 2));
}

static uint32_t stack_end(void)
{
	return thread.piece + COSY_PIECE - STACK_SPARE - cosy.arena;
}

#define STACK_SIZE	(COSY_PIECE - FRAMES_SIZE - STACK_SPARE)

/* -- Scripts, in the kernel or in this process ---------------------------------------- */

/* The limits of a run, unless the machine's own are lower. */
#define TIME_LIMIT	10000000000ULL	/* ns */
/* Machine code for each byte of an image, and a fixed amount. */
#define CODE_FACTOR	4
#define MEMORY_BASE	(320UL << 10)

/* The last part of a path, truncated at its beginning. */
static void set_name(struct syscript_register *reg, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(name), max = sizeof(reg->name) - 1;

	memcpy(reg->name, len > max ? name + len - max : name, len > max ? max : len);
}

/* Registers in the process; lives as long as it is held, without a descriptor. */
static int register_here(struct thread_script *script, struct syscript_register *reg)
{
	int fd;

	reg->engine = SYSCRIPT_ENGINE_CONFINED;
	fd = user_register(reg);
	if (fd < 0)
		return fd;
	script->here = user_fd_get(fd);
	close(fd);
	return script->here ? 0 : -EBADF;
}

static int register_image(struct thread_script *script, struct syscript_register *reg)
{
	int err;

	reg->time_limit = TIME_LIMIT;
	if (cosy.engine == USER)
		return register_here(script, reg);
	err = compound_register(&script->kernel, reg);
	if (err != -EINVAL)
		return err;
	/* The time limit exceeds the maximum of this machine: use its default. */
	reg->time_limit = 0;
	return compound_register(&script->kernel, reg);
}

/* Registers @loaded for this thread: 0, or -errno if it must run natively. */
static int register_script(const struct loaded *loaded, struct thread_script *script)
{
	const struct cosy_file *file = loaded->unit->file;
	unsigned long size = thread.reach - (uintptr_t)cosy.arena;
	struct image_header *image = place_image(loaded, __builtin_ctzl(size));
	char error[512] = "no memory";
	struct syscript_register reg = {
		.image_len = file->image.n,
		.memory_limit = CODE_FACTOR * file->image.n + MEMORY_BASE,
		.wall_limit = SYSCRIPT_NO_LIMIT,
		.error = (unsigned long)error, .error_len = sizeof(error),
		.shared = (unsigned long)cosy.arena, .shared_len = size,
	};
	int err = -ENOMEM;

	if (image) {
		image->stack_end = stack_end();
		image->stack_size = STACK_SIZE;
		reg.image = (unsigned long)image;
		set_name(&reg, loaded->unit->name);
		err = register_image(script, &reg);
		free(image);
	}
	if (err && !error[0])
		snprintf(error, sizeof(error), "not taken: %s: see 'syscript doctor'",
			 strerrordesc_np(-err));
	if (err && (cosy.forced || err == -ENOEXEC))
		fail(loaded->unit->name, error);
	return err;
}

/*
 * With other threads, one may allocate memory and pass its address while this thread's compounds
 * run.
 */
static inline bool reaches_all(void)
{
	return thread.reach >= (__libc_single_threaded ? heap_top : cosy.end);
}

/* Closes scripts that see too little of the arena: the next call registers them again. */
static void reach_all(void)
{
	unsigned long size = cosy.size;

	if (!thread.reach && __libc_single_threaded)
		for (size = 1UL << IMAGE_ARENA_SHIFT_MIN;
		     (uintptr_t)cosy.arena + size < heap_top; size *= 2)
			;
	close_all(&thread);
	thread.reach = (uintptr_t)cosy.arena + size;
}

static struct thread_script *find_script(uint64_t unit)
{
	struct thread_script *scripts;

	if (unit < thread.nscripts)
		return &thread.scripts[unit];
	scripts = realloc(thread.scripts, (unit + 1) * sizeof(*scripts));
	if (!scripts)
		return NULL;
	memset(scripts + thread.nscripts, 0, (unit + 1 - thread.nscripts) * sizeof(*scripts));
	thread.scripts = scripts;
	thread.nscripts = unit + 1;
	return &scripts[unit];
}

/* This thread's script; NULL, with nothing called, if the kernel refuses @loaded. */
static struct thread_script *ready_script(struct loaded *loaded)
{
	struct thread_script *script;

	if (!reaches_all())
		reach_all();
	script = find_script(loaded->unit->number);
	if (script && !script->kernel.registered && !script->here &&
	    register_script(loaded, script)) {
		loaded->native = true;
		return NULL;
	}
	return script;
}

static inline void pass_errno(void)
{
	((struct cosy_piece *)thread.piece)->errno_value = *thread.errno_at;
}

static inline void take_errno(void)
{
	*thread.errno_at = ((struct cosy_piece *)thread.piece)->errno_value;
}

/* Gets all its data from @call, so that successful calls need not keep it. */
__attribute__((noinline))
static long call_failed(struct cosy_unit *unit, long (*host)(void *),
			struct syscript_call *call, long ret)
{
	struct compound *compound = &thread.scripts[unit->number].kernel;
	int err = device_call_ioctl(compound->fd, call, ret);
	char error[512];

	if (!err) {
		take_errno();
		return call->results[0];
	}
	if (compound_has_failed(compound, err, error, sizeof(error)))
		tell(unit, error);
	return host((void *)call->args[1]);
}

static inline long call_kernel(struct cosy_unit *unit, struct thread_script *script,
			       long which, void *frame, long (*host)(void *), bool quiet)
{
	struct syscript_call call;	/* fields that are not passed are not read */
	long ret;

	pass_errno();
	compound_call_begin(&call, which, (long)frame, quiet);
	ret = device_seek(script->kernel.fd, &call);
	if (__builtin_expect(ret != SYSCRIPT_SEEK_CALLED, 0))
		return call_failed(unit, host, &call, ret);
	take_errno();
	return quiet ? 0 : call.results[0];
}

static long call_here(struct cosy_unit *unit, struct thread_script *script, long which,
		      void *frame)
{
	struct syscript_call call = { .nargs = 2, .args = { which, (long)frame } };

	pass_errno();
	if (user_call(script->here, &call))
		tell(unit, script->here->program->run->error);
	take_errno();
	return call.results[0];
}

/* The first call, on any engine. */
__attribute__((noinline))
static long call_any(struct cosy_unit *unit, long which, void *frame, long (*host)(void *))
{
	struct loaded *loaded = cosy.units[unit->number];
	struct thread_script *script;

	if (!thread.tried)
		thread_start();
	if (cosy.engine == NATIVE || !thread.piece || loaded->native ||
	    (frame && !in_arena(frame)))
		return host(frame);
	script = ready_script(loaded);
	if (!script)
		return host(frame);
	return script->here ? call_here(unit, script, which, frame) :
			      call_kernel(unit, script, which, frame, host, false);
}

static inline long call(struct cosy_unit *unit, long which, void *frame,
			long (*host)(void *), bool quiet)
{
	struct thread_script *script = &thread.scripts[unit->number];

	if (__builtin_expect(unit->number < thread.nscripts, 1) && script->kernel.registered &&
	    reaches_all() && (in_arena(frame) || !frame))
		return call_kernel(unit, script, which, frame, host, quiet);
	return call_any(unit, which, frame, host);
}

long cosy_call(struct cosy_unit *unit, long which, void *frame, long (*host)(void *))
{
	return call(unit, which, frame, host, false);
}

void cosy_run(struct cosy_unit *unit, long which, void *frame, long (*host)(void *))
{
	call(unit, which, frame, host, true);
}
