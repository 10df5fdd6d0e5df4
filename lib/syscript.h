/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libsyscript: system call scripting for Linux.  Link with -lsyscript.
 *
 * A script is a file descriptor.  It runs in the kernel if the device may be
 * opened, else in the process with ordinary system calls; the program need not
 * care which.  The functions return 0, a positive value, or -errno; they leave
 * errno alone, and any thread may call them.  They are not async-signal-safe.
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
	SYSCRIPT_BACKEND_AUTO,		/* kernel where it can be used, else user */
	SYSCRIPT_BACKEND_KERNEL,
	SYSCRIPT_BACKEND_USER,
};

/* Lua on that engine and no other; syscript(7) lists the differences. */
#define SYSCRIPT_LUA_ON_LUAJIT		0x100
#define SYSCRIPT_LUA_ON_CONFINED	0x101

/**
 * struct syscript_options - how a script is registered; zero means the default
 * @size:          sizeof(struct syscript_options), so that it can grow
 * @name:          shows in error texts and lists; shorter than SYSCRIPT_NAME_LEN
 * @flags:         SYSCRIPT_NOJIT, SYSCRIPT_KILL, SYSCRIPT_CHECK, SYSCRIPT_TRACEBACK,
 *                 SYSCRIPT_BASE, SYSCRIPT_EXTENDS; SYSCRIPT_ONLY is @only's
 * @backend:       AUTO means the environment variable SYSCRIPT_BACKEND
 *                 ("auto", "kernel" or "user")
 * @memory_limit:  bytes that the script may allocate
 * @time_limit_ns: run time in script code per call
 * @wall_limit_ns: elapsed time per call, without waits; SYSCRIPT_NO_LIMIT for the highest
 * @grace_ns:      how long a call may continue while a signal is pending
 * @engine:        for Lua source SYSCRIPT_LUA_ON_*, or 0: the environment variable
 *                 SYSCRIPT_ENGINE ("auto", "luajit" or "confined"), and without it the
 *                 library's choice: LuaJIT in the kernel, the confined engine, or LuaJIT
 *                 in the process; for an image SYSCRIPT_ENGINE_*
 * @format:        of an image, see the engine
 * @shared:        memory that the program shares with the script, see the engine
 * @shared_len:    its length in bytes
 * @base:          with SYSCRIPT_EXTENDS the fd of the script that this one extends, which
 *                 must be in the same backend
 * @only:          names of the system calls that the script may make, and of the libraries
 *                 of "util", "fs" and "net" that it may use, with commas or spaces
 *                 between; NULL: all.  Not for Lua on the confined engine
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
};

/* Registers a script with the default options.  Returns its fd or -errno. */
int register_lua_syscall(const char *script, size_t size);

/*
 * Calls run() with @nargs arguments of type long.  Returns its first result (0
 * if there is none) or -errno; syscript_call() tells the two apart.
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
 * Looks for mistakes in a script that compiles: unknown names, missing
 * arguments, globals meant to be local, lost descriptors.  Runs nothing.
 * Writes a line "name:line: text\n" for each to @text, as many as fit in
 * @text_len bytes with a NUL.  Returns how many there are, or -errno; with
 * -ENOEXEC @text has the compiler's message.
 */
int syscript_lint(const char *source, size_t len,
		  const struct syscript_options *options,
		  char *text, size_t text_len);

/*
 * Calls run().  Stores at most @nresults_max results.  Returns how many run()
 * returned (never more than SYSCRIPT_RESULTS_MAX) or -errno.
 */
int syscript_call(int fd, unsigned int nargs, const int64_t *args,
		  unsigned int nresults_max, int64_t *results);

/*
 * Copies the text of the script's last error, NUL-terminated and cut to @len.
 * Returns the length of the whole text, 0 if there is none, or -errno.
 */
int syscript_error(int fd, char *buf, size_t len);

/*
 * Removes output of print() from its buffer: at most @len bytes, no NUL.  Returns
 * how many bytes, 0 if there are no more, or -errno.
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

/*
 * Tells where a script runs.  Returns SYSCRIPT_BACKEND_KERNEL or _USER, or
 * -errno.
 */
int syscript_backend(int fd);

/*
 * Checks whether this thread can use a backend now.  Returns 0, or -errno with
 * the reason.
 */
int syscript_probe(enum syscript_backend backend);

/*
 * Frees the script.  close(2) does, too, but the user backend's memory is then
 * freed at the next library call.  Returns 0 or -errno.
 */
int syscript_close(int fd);

/*
 * Closes what the library keeps open for its own functions (syscript_files.h,
 * syscript_sockets.h), for a program that needs the descriptors or the user's share; the
 * next call of one opens it again.  What other threads are using stays.
 */
void syscript_release(void);

/*
 * What an error of this library means and what to do about it.  Takes errno or
 * -errno, returns a constant text that must not be freed.
 */
const char *syscript_strerror(int err);

/* The library's version, as "major.minor.patch". */
const char *syscript_version(void);

#ifdef __cplusplus
}

/* Widens any integer or pointer, which a plain ... would pass as it is. */
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
 * Widens each argument to long, so that an int or a pointer may be passed as it
 * is, and fills up to SYSCRIPT_ARGS_MAX: @nargs never reads past the end.
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
