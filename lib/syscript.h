/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libsyscript: system call scripting for Linux.  Link with -lsyscript.
 *
 * A script is a file descriptor. It runs in the kernel if the device may be opened, otherwise in
 * the process with ordinary system calls, with the same results. The functions return 0, a
 * positive value, or -errno; they do not change errno, and any thread may call them.  They are
 * not async-signal-safe.
 *
 * <linux/syscript.h> explains flags, limits and errors; syscript(7) the language.
 */
#ifndef _SYSCRIPT_H
#define _SYSCRIPT_H

#include <stddef.h>
#include <stdint.h>
#include <linux/syscript.h>

#ifdef __cplusplus
#include <cerrno>
extern "C" {
#endif

#define SYSCRIPT_VERSION_MAJOR	0
#define SYSCRIPT_VERSION_MINOR	1
#define SYSCRIPT_VERSION_PATCH	0

/* Where a script runs. */
enum syscript_backend {
	SYSCRIPT_BACKEND_AUTO,		/* the kernel if it can be used, otherwise the process */
	SYSCRIPT_BACKEND_KERNEL,
	SYSCRIPT_BACKEND_USER,
};

/* Lua on that engine only; syscript(7) lists the differences. */
#define SYSCRIPT_LUA_ON_LUAJIT		0x100
#define SYSCRIPT_LUA_ON_CONFINED	0x101

/**
 * struct syscript_options - options of a registration; zero means the default
 * @size:          sizeof(struct syscript_options), so that it can grow
 * @name:          shows in error texts and lists; shorter than SYSCRIPT_NAME_LEN
 * @flags:         SYSCRIPT_NOJIT, SYSCRIPT_KILL, SYSCRIPT_CHECK, SYSCRIPT_TRACEBACK,
 *                 SYSCRIPT_BASE, SYSCRIPT_EXTENDS; SYSCRIPT_ONLY is set by @only
 * @backend:       AUTO means the environment variable SYSCRIPT_BACKEND
 *                 ("auto", "kernel" or "user")
 * @memory_limit:  bytes that the script may allocate
 * @time_limit_ns: run time in script code per call
 * @wall_limit_ns: elapsed time per call, without waits; SYSCRIPT_NO_LIMIT for the highest
 * @grace_ns:      how long a call may continue while a signal is pending
 * @engine:        for Lua source SYSCRIPT_LUA_ON_*, or 0: the environment variable
 *                 SYSCRIPT_ENGINE ("auto", "luajit" or "confined"), or else the first that can be
 *                 used of LuaJIT in the kernel, the confined engine, and LuaJIT in the process;
 *                 for an image SYSCRIPT_ENGINE_*
 * @format:        format of an image, see the engine
 * @shared:        memory that the program shares with the script, see the engine
 * @shared_len:    its length in bytes
 * @base:          with SYSCRIPT_EXTENDS the fd of the script that this one extends, which
 *                 must be in the same backend
 * @only:          names of the system calls that the script may make, and of the libraries
 *                 ("util", "fs", "net") that it may use, separated by commas or spaces; NULL:
 *                 all
 * @modules:       a folder of Lua modules for require(): those that the script, or a module, names
 *                 as in require("a.b"), which is a/b.lua there, are read and compiled in now;
 *                 NULL: there is no require()
 */
struct syscript_options {
	size_t size;
	const char *name;
	uint32_t flags;
	enum syscript_backend backend;
	uint64_t memory_limit;
	uint64_t time_limit_ns;
	uint64_t wall_limit_ns;
	uint64_t grace_ns;
	uint32_t engine;
	uint32_t format;
	void *shared;
	size_t shared_len;
	uint64_t base;
	const char *only;
	const char *modules;
};

/* Registers a script with the default options.  Returns its fd or -errno. */
int register_lua_syscall(const char *script, size_t size);

/*
 * Calls run() with @nargs arguments of type long.  Returns its first result (0 if there is none)
 * or -errno; syscript_call() distinguishes negative results from errors.
 */
long lua_syscall(int fd, unsigned int nargs, ...);

/*
 * Registers a script: Lua source or, for another engine, its image.  @options may
 * be NULL; @error gets the text of a failure and may be NULL with @error_len 0.
 * Returns the fd (with SYSCRIPT_CHECK: 0) or -errno.
 */
int syscript_register(const void *image, size_t len,
		      const struct syscript_options *options,
		      char *error, size_t error_len);

/*
 * Looks for mistakes in a script that compiles: unknown names, missing arguments, globals meant
 * to be local, lost descriptors.  Runs nothing. Writes a line "name:line: text\n" for each
 * mistake to @text, as many as fit in @text_len bytes with a NUL. Returns the number of mistakes,
 * or -errno; with -ENOEXEC @text has the compiler's message.
 */
int syscript_lint(const char *source, size_t len,
		  const struct syscript_options *options,
		  char *text, size_t text_len);

/*
 * Calls run().  Stores at most @nresults_max results.  Returns the number of results that run()
 * returned (at most SYSCRIPT_RESULTS_MAX) or -errno.
 */
int syscript_call(int fd, unsigned int nargs, const int64_t *args,
		  unsigned int nresults_max, int64_t *results);

/*
 * Copies the text of the script's last error, NUL-terminated and cut to @len.
 * Returns the length of the whole text, 0 if there is none, or -errno.
 */
int syscript_error(int fd, char *buf, size_t len);

/*
 * Moves output of print() from the script to @buf: at most @len bytes, without a NUL. Returns the
 * number of bytes, 0 if there are none, or -errno.
 */
int syscript_output(int fd, char *buf, size_t len);

/* Fills in the script's limits and counters.  Returns 0 or -errno. */
int syscript_info(int fd, struct syscript_info *info);

/*
 * Walks the live scripts that the caller may see: those of the kernel, then
 * those of this process's user backend.  Set @info->id to 0 before the first
 * call.  Returns 0, -ENOENT past the last one, or another -errno.
 */
int syscript_next(struct syscript_info *info);

/* Returns where a script runs: SYSCRIPT_BACKEND_KERNEL or _USER, or -errno. */
int syscript_backend(int fd);

/*
 * Checks whether this thread can use a backend now.  Returns 0, or -errno with
 * the reason.
 */
int syscript_probe(enum syscript_backend backend);

/*
 * Frees the script.  close(2) does so, too, but then the user backend's memory is freed only by
 * the next library call.  Returns 0 or -errno.
 */
int syscript_close(int fd);

/*
 * Closes the scripts that the library keeps open for its own functions (syscript_files.h,
 * syscript_sockets.h), for a program that needs the descriptors or the user's share; the
 * functions' next calls open them again. Scripts that other threads are using stay open.
 */
void syscript_release(void);

/*
 * Returns the meaning of an error of this library, and what to do about it, for errno or -errno:
 * a constant text that must not be freed.
 */
const char *syscript_strerror(int err);

/* The library's version, as "major.minor.patch". */
const char *syscript_version(void);

#ifdef __cplusplus
}

/* Widens any integer or pointer, which a variadic call would pass without widening. */
static inline int64_t syscript_widen(int64_t v) { return v; }
static inline int64_t syscript_widen(const volatile void *p)
{
	return static_cast<int64_t>(reinterpret_cast<intptr_t>(p));
}

template <typename... Args>
static inline long lua_syscall(int fd, unsigned int nargs, Args... args)
{
	static_assert(sizeof...(args) <= SYSCRIPT_ARGS_MAX,
		      "a script takes at most SYSCRIPT_ARGS_MAX arguments");
	const int64_t widened[SYSCRIPT_ARGS_MAX] = { syscript_widen(args)... };
	int64_t result = 0;
	int ret = syscript_call(fd, nargs, widened, 1, &result);

	return ret < 0 ? ret : static_cast<long>(result);
}
#else
/*
 * Widens each argument to long, so that ints and pointers need no cast, and pads to
 * SYSCRIPT_ARGS_MAX arguments, so that a wrong @nargs never reads past the end.
 */
#define _SYSCRIPT_WIDEN(a, b, c, d, e, f, g, h, ...)			\
	(long)(a), (long)(b), (long)(c), (long)(d),			\
	(long)(e), (long)(f), (long)(g), (long)(h)
#define lua_syscall(fd, ...)						\
	_SYSCRIPT_CALL(fd, __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0)
#define _SYSCRIPT_CALL(fd, nargs, ...)					\
	(lua_syscall)(fd, nargs, _SYSCRIPT_WIDEN(__VA_ARGS__))
#endif

#endif /* _SYSCRIPT_H */
