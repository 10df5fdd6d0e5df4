/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libsyscript: programs that subsystems of the kernel call, such as filters of packets.
 *
 * A program has a name and belongs to no process: it stays until it is unloaded, or its network
 * namespace ends.  <linux/syscript.h> explains subsystems, attach points and errors.  The
 * functions return 0 or -errno, and need the module: -ENODEV without it.
 */
#ifndef _SYSCRIPT_PROGRAMS_H
#define _SYSCRIPT_PROGRAMS_H

#include <syscript.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct syscript_load_options - options of a load; zero means the default
 * @size:       sizeof(struct syscript_load_options), so that it can grow
 * @source:     the file's name in error texts; default: the program's name
 * @subsystem:  the subsystem that calls it: "netfilter"
 * @where:      the attach point, in the subsystem's notation: for netfilter family, hook and
 *              priority, "inet input -10"
 * @flags:      SYSCRIPT_LOAD_NEW, SYSCRIPT_LOAD_FALLBACK
 * @errors_max: after this many errors in a second the program is no longer called
 * @fallback:   with SYSCRIPT_LOAD_FALLBACK: the result of a call that fails
 */
struct syscript_load_options {
	size_t size;
	const char *source;
	const char *subsystem;
	const char *where;
	uint32_t flags;
	uint32_t errors_max;
	int64_t fallback;
};

/*
 * Loads a program as @name, replacing a program of that name. The @len bytes at @file are an
 * object of `clang -target bpf` (cosy-cc --program), or Lua.  @options may be NULL; @error gets
 * the text of a failure and may be NULL with @error_len 0.  Returns 0 or -errno: -ENOEXEC if the
 * program is refused, -EINVAL for an invalid object, name or attach point.
 */
int syscript_load(const char *name, const void *file, size_t len,
		  const struct syscript_load_options *options, char *error, size_t error_len);

/* Unloads a program.  Returns 0, -ENOENT if there is none, or another -errno. */
int syscript_unload(const char *name);

/*
 * Walks the programs of this network namespace, and those of the machine that the caller
 * may unload.  Set @program->id to 0 before the first call.  Returns 0, -ENOENT past the
 * last one, or another -errno.
 */
int syscript_next_program(struct syscript_program *program);

/*
 * Calls a program of the subsystem "process" with @nargs numbers, and @data_len bytes of @data,
 * and stores its result. Returns 0 or -errno, with the text in @error if the program has failed:
 * -EPROTO, or -ENOTRECOVERABLE if it is no longer called.
 */
int syscript_invoke(const char *name, unsigned int nargs, const int64_t *args,
		    const void *data, size_t data_len, int64_t *result,
		    char *error, size_t error_len);

/*
 * Opens the ring @name of the caller's network namespace, or else of the machine. Returns a
 * descriptor to read, poll and close, with the values' number and names in @events; or -errno:
 * -ENOENT if no program names the ring, -EPERM. read(2) returns structures syscript_record, as
 * <linux/syscript.h> describes.
 */
int syscript_open_events(const char *name, struct syscript_events *events);

#ifdef __cplusplus
}
#endif

#endif /* _SYSCRIPT_PROGRAMS_H */
