// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The arena, from its beginning:
 *
 *   a page that nothing lies in, so that 0 is no address
 *   the compound's data
 *   the call, the script, its arguments
 *   memory for Lua: as much as --memory-limit says
 *   the compound's stack
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cosy/load.h"
#include "../engine/confined/image.h"
#include "../engine/confined/user/vm.h"
#include "../engine/lua-guest/guest.h"
#include "../lib/device.h"
#include "cli.h"
#include "findings.h"
#include "guest.h"
#include "hints.h"
#include "values.h"

#define ARENA_START	4096
#define ARENA_MAX	(1UL << IMAGE_ARENA_SHIFT_MAX)
#define MEMORY		(1UL << 20)	/* unless --memory-limit says otherwise */
#define TIME		100000000UL	/* the same, for --time-limit: ns */
/* Enough for LUAI_MAXCCALLS, 200, calls of string.gsub() by itself. */
#define STACK_SIZE	(640U << 10)
#define NATIVE_SIZE	(192U << 10)
#define STACK_SPARE	64
/* The image and machine code of up to twice its size; and what comes on top. */
#define CODE_FACTOR	3
#define CODE_BASE	(NATIVE_SIZE + (64UL << 10))

static struct {
	const struct cosy_file *file;
	struct image_header *image;	/* at its place */
	char *arena, *at, *end;		/* what is free of it */
	size_t size;
	struct guest_call *call;
	struct guest_call **frame;	/* the compound's argument leads to it */
	bool here;			/* in this process: */
	struct user_image in_process;
	int fd;				/* or in the kernel */
} guest;

/* -- The compound ------------------------------------------------------------------- */

static int open_next_to_me(const char *name)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (len < 0)
		return -1;
	path[len] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash + 1, sizeof(path) - (slash + 1 - path), "%s", name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Lua, installed or as built. */
static bool map_file(void)
{
	int fd = open_next_to_me("../lib/syscript/lua.image");
	struct stat st;

	if (fd < 0)
		fd = open_next_to_me("lua-guest/lua.image");
	if (fd < 0 || fstat(fd, &st)) {
		complain("no lua.image, which is Lua for the confined engine: make lua-guest");
		return false;
	}
	guest.file = mmap(NULL, st.st_size ?: 1, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (guest.file != MAP_FAILED && file_is_compound(guest.file, st.st_size))
		return true;
	complain("lua.image is no compound");
	return false;
}

/* -- The arena ------------------------------------------------------------------------ */

static void *take(size_t size)
{
	char *p = guest.at;

	size = (size + 15) & -16UL;
	if (size > (size_t)(guest.end - p))
		return NULL;
	guest.at += size;
	return p;
}

static bool make_arena(size_t heap, size_t rest)
{
	size_t size = ARENA_START + guest.file->memory_size + guest.file->align + STACK_SIZE +
		      STACK_SPARE;
	uint32_t shift = IMAGE_ARENA_SHIFT_MIN;

	if (heap > ARENA_MAX || rest > ARENA_MAX || size + heap + rest > ARENA_MAX)
		return false;
	size += heap + rest;
	while (1UL << shift < size)
		shift++;
	guest.arena = arena_map(shift, false);
	if (!guest.arena)
		return false;
	guest.size = 1UL << shift;
	guest.at = guest.arena + ARENA_START;
	guest.end = guest.arena + guest.size - STACK_SIZE - STACK_SPARE;
	return true;
}

static bool place_compound(void)
{
	char *data = guest.at;

	data += -(unsigned long)data & (guest.file->align - 1);
	guest.at = data + guest.file->memory_size;
	take(-(unsigned long)guest.at & 15);
	file_load_data(guest.file, data);
	guest.image = file_place_image(guest.file, data - guest.arena);
	if (!guest.image)
		return false;
	guest.image->arena_shift = __builtin_ctzl(guest.size);
	guest.image->stack_end = guest.size - STACK_SPARE;
	guest.image->stack_size = STACK_SIZE;
	guest.image->native_size = NATIVE_SIZE;
	return true;
}

static void *copy(const void *from, size_t len)
{
	char *to = take(len + 1);

	return to ? memcpy(to, from, len) : NULL;
}

static void place_call(const struct job *job, const char *source, size_t len, size_t heap)
{
	struct guest_call *call = take(sizeof(*call));
	char name[SYSCRIPT_NAME_LEN + 1];

	snprintf(name, sizeof(name), "@%s", job->name);
	guest.frame = take(sizeof(*guest.frame));
	*guest.frame = guest.call = call;
	call->source = copy(source, len);
	call->source_len = len;
	call->name = copy(name, strlen(name));
	call->arena = (unsigned long)guest.arena;
	call->arena_size = guest.size;
	call->heap_size = heap;
}

/* Bytes that the arguments' buffers and texts can take. */
static size_t size_of(int argc, char **argv)
{
	uint64_t all = 0, size;

	for (int i = 0; i < argc; i++) {
		all += strlen(argv[i]) + 16;
		if (argument_is_buffer(argv[i], &size))
			all += (size < ARENA_MAX ? size : ARENA_MAX) + 16;
	}
	return all;
}

static int prepare(const struct job *job, const char *source, size_t len, int argc, char **argv)
{
	size_t heap = job->options.memory_limit ?: MEMORY;
	size_t rest = sizeof(struct guest_call) + SYSCRIPT_NAME_LEN + len + 256 +
		      size_of(argc, argv);

	if (!map_file())
		return EXIT_USAGE;
	if (!make_arena(heap, rest) || !place_compound())
		return complain("no memory for the script");
	place_call(job, source, len, heap);
	argument_memory = take;
	guest.call->nargs = argc;
	for (int i = 0; i < argc; i++) {
		if (!parse_argument(argv[i], &guest.call->args[i]))
			return EXIT_USAGE;
	}
	guest.call->heap = take(heap);
	return 0;
}

/* -- The engine ----------------------------------------------------------------------------- */

static int load_here(const struct job *job)
{
	char error[256] = "no memory";

	guest.here = true;
	if (arena_guard(guest.arena, guest.size))
		return complain("the script's guard pages: %s", strerror(errno));
	if (user_image_load(&guest.in_process, guest.image, guest.file->image.n, error,
			    sizeof(error)))
		return complain("%s", error);
	guest.in_process.deadline = user_time() + (job->options.time_limit_ns ?: TIME);
	return 0;
}

/* As the library does for SYSCRIPT_BACKEND_AUTO; -ENOMEM: as programs of cosy-cc do. */
static int go_on_here(const struct job *job, int err, const char *error)
{
	if (err != -ENOMEM && !device_unavailable(err))
		return complain("%s", error);
	/* The others are how a machine, or a thread, is set up. */
	if (err == -ENOMEM)
		complain("runs in this process: %s", error);
	return load_here(job);
}

static int load_in_kernel(const struct job *job, bool only)
{
	struct syscript_options options = job->options;
	char error[2048];

	options.backend = SYSCRIPT_BACKEND_KERNEL;
	options.format = SYSCRIPT_CONFINED_BPF;
	options.flags &= SYSCRIPT_KILL;
	options.memory_limit = CODE_FACTOR * guest.file->image.n + CODE_BASE;
	options.shared = guest.arena;
	options.shared_len = guest.size;
	guest.fd = syscript_register(guest.image, guest.file->image.n, &options, error,
				     sizeof(error));
	if (guest.fd >= 0)
		return 0;
	return only ? complain("%s", error) : go_on_here(job, guest.fd, error);
}

static int enter_here(char *error, size_t len)
{
	u64 args[5] = { 0, (unsigned long)guest.frame }, value;

	return user_image_call(&guest.in_process, guest.arena, guest.image->stack_end,
			       STACK_SIZE, args, &value, error, len);
}

static int enter_kernel(char *error, size_t len)
{
	int64_t args[2] = { 0, (intptr_t)guest.frame }, value;
	int n = syscript_call(guest.fd, 2, args, 1, &value);

	if (n < 0 && syscript_error(guest.fd, error, len) <= 0)
		snprintf(error, len, "%s", syscript_strerror(n));
	return n < 0 ? n : 0;
}

/* -- Runs ------------------------------------------------------------------------------- */

static int print_failure(const struct job *job, const char *error)
{
	char text[SYSCRIPT_NAME_LEN + 512];
	unsigned int insn;
	int where = 0;

	fflush(stdout);
	/* An instruction of Lua's own tells a script's author nothing. */
	sscanf(error, "insn %u: %n", &insn, &where);
	snprintf(text, sizeof(text), "%s: %s", job->name, error + where);
	print_error(text);
	return EXIT_SCRIPT;
}

int guest_call(const struct job *job)
{
	char error[256];

	if ((guest.here ? enter_here : enter_kernel)(error, sizeof(error)))
		return print_failure(job, error);
	if (!guest.call->failed)
		return 0;
	guest.call->error[GUEST_ERROR_LEN - 1] = '\0';
	fflush(stdout);
	print_error(guest.call->error);
	return EXIT_SCRIPT;
}

/* As the library does it for LuaJIT. */
static enum syscript_backend choose(enum syscript_backend backend)
{
	const char *text = getenv("SYSCRIPT_BACKEND");

	if (backend != SYSCRIPT_BACKEND_AUTO || !text)
		return backend;
	if (!strcmp(text, "user"))
		return SYSCRIPT_BACKEND_USER;
	return strcmp(text, "kernel") ? backend : SYSCRIPT_BACKEND_KERNEL;
}

static bool is_open(const char *path)
{
	return !access(path, R_OK | W_OK);
}

int guest_open(const struct job *job, const char *source, size_t len, int argc, char **argv)
{
	enum syscript_backend backend = choose(job->options.backend);
	int status = prepare(job, source, len, argc, argv);

	if (status)
		return status;
	if (backend == SYSCRIPT_BACKEND_USER ||
	    (backend == SYSCRIPT_BACKEND_AUTO && !is_open(CONFINED_DEVICE) && !is_open(DEVICE)))
		return load_here(job);
	return load_in_kernel(job, backend == SYSCRIPT_BACKEND_KERNEL);
}

struct guest_call *guest_frame(void)
{
	return guest.call;
}

/* Loads the script, then calls it. */
static int call_twice(const struct job *job, const char *source)
{
	const struct guest_call *of = guest.call;
	int status = guest_call(job);

	if (status)
		return status;
	status = guest_call(job);
	if (status)
		hint_at_arguments(source, of->nargs);
	else if (of->nresults && !print_out_buffer(of->results[0]))
		print_results(of->nresults, of->results);
	return status;
}

int guest_run(const struct job *job, int argc, char **argv)
{
	size_t len;
	char *source = job_source(job, &len);
	int status;

	if (!source)
		return EXIT_USAGE;
	status = guest_open(job, source, len, argc, argv);
	if (!status) {
		status = call_twice(job, source);
		if (job->info && !guest.here)
			job_print_info(guest.fd);
	}
	free(source);
	return status;
}
