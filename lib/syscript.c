// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The public functions: which backend, and from its terms to syscript.h's. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "fallback.h"
#include "lua_host.h"
#include "syscript.h"
#include "sys.h"
#include "user/user.h"

/* The size that the first version of struct syscript_options had. */
#define OPTIONS_SIZE_1	offsetof(struct syscript_options, wall_limit_ns)

#define STRING(x)	#x
#define VERSION(a, b, c)	STRING(a) "." STRING(b) "." STRING(c)

const char *syscript_version(void)
{
	return VERSION(SYSCRIPT_VERSION_MAJOR, SYSCRIPT_VERSION_MINOR, SYSCRIPT_VERSION_PATCH);
}

/* AUTO turned into what the environment says.  Returns a backend or -EINVAL. */
static int choose(enum syscript_backend backend)
{
	const char *env;

	if (backend != SYSCRIPT_BACKEND_AUTO)
		return backend == SYSCRIPT_BACKEND_KERNEL || backend == SYSCRIPT_BACKEND_USER ?
			(int)backend : -EINVAL;
	env = secure_getenv("SYSCRIPT_BACKEND");
	if (!env || !*env || !strcmp(env, "auto"))
		return SYSCRIPT_BACKEND_AUTO;
	if (!strcmp(env, "kernel"))
		return SYSCRIPT_BACKEND_KERNEL;
	if (!strcmp(env, "user"))
		return SYSCRIPT_BACKEND_USER;
	return -EINVAL;
}

/* The same for engines: a number of options.engine that names one, or -EINVAL. */
static int choose_engine(unsigned int engine)
{
	const char *env;

	if (engine)
		return engine;
	env = secure_getenv("SYSCRIPT_ENGINE");
	if (!env || !*env || !strcmp(env, "auto") || !strcmp(env, "luajit"))
		return SYSCRIPT_LUA_ON_LUAJIT;
	return strcmp(env, "confined") ? -EINVAL : SYSCRIPT_LUA_ON_CONFINED;
}

/* A watcher has ended a run in the kernel: it would end the next ones as well. */
static bool kernel_is_watched;

static int register_auto(struct syscript_register *reg)
{
	int ret = -EOPNOTSUPP;

	if (!__atomic_load_n(&kernel_is_watched, __ATOMIC_RELAXED))
		ret = device_register(reg);
	if (device_unavailable(ret))
		return user_register(reg);
	if (ret >= 0 && !(reg->flags & SYSCRIPT_CHECK))
		fallback_add(ret, reg);
	return ret;
}

static int register_with(enum syscript_backend backend, struct syscript_register *reg)
{
	int ret;

	/* Its place is chosen by the engine. */
	if (reg->engine == lua_engine.id)
		return user_register(reg);
	switch (backend) {
	case SYSCRIPT_BACKEND_AUTO:
		return register_auto(reg);
	case SYSCRIPT_BACKEND_USER:
		return user_register(reg);
	case SYSCRIPT_BACKEND_KERNEL:
		break;
	}
	ret = device_register(reg);
	if (ret >= 0)
		fallback_drop(ret);
	return ret;
}

/* @given may be of an older or a newer caller. */
static int copy_options(struct syscript_options *options, const struct syscript_options *given)
{
	const char *bytes = (const char *)given;

	memset(options, 0, sizeof(*options));
	if (!given)
		return 0;
	if (given->size < OPTIONS_SIZE_1)
		return -EINVAL;
	for (size_t i = sizeof(*options); i < given->size; i++) {
		if (bytes[i])
			return -E2BIG;
	}
	memcpy(options, given, given->size < sizeof(*options) ? given->size : sizeof(*options));
	return 0;
}

/* Fills in the engine, and returns the backend, or -errno. */
static int fill_choice(struct syscript_register *reg, const struct syscript_options *options,
		       char *error, size_t error_len)
{
	int backend = choose(options->backend), engine = choose_engine(options->engine);

	if (backend < 0)
		snprintf(error, error_len,
			 "unknown backend: SYSCRIPT_BACKEND has to be auto, kernel or user");
	else if (engine < 0)
		snprintf(error, error_len,
			 "unknown engine: SYSCRIPT_ENGINE has to be auto, luajit or confined");
	if (engine < 0)
		return engine;
	reg->engine = engine == SYSCRIPT_LUA_ON_LUAJIT ? SYSCRIPT_ENGINE_LUAJIT : engine;
	if (reg->engine == lua_engine.id && backend >= 0)
		reg->format = backend;
	return backend;
}

/* Fills in @reg but for its backend, which it returns, or -errno. */
static int fill_register(struct syscript_register *reg, const struct syscript_options *given,
			 char *error, size_t error_len)
{
	struct syscript_options options;
	int err;

	err = copy_options(&options, given);
	if (err)
		return err;
	if (options.name && strlen(options.name) >= sizeof(reg->name)) {
		snprintf(error, error_len, "the name is longer than %zu bytes",
			 sizeof(reg->name) - 1);
		return -EINVAL;
	}
	if (options.name)
		strcpy(reg->name, options.name);
	reg->flags = options.flags;
	reg->memory_limit = options.memory_limit;
	reg->time_limit = options.time_limit_ns;
	reg->wall_limit = options.wall_limit_ns;
	reg->grace = options.grace_ns;
	reg->format = options.format;
	reg->shared = (unsigned long)options.shared;
	reg->shared_len = options.shared_len;
	reg->error = (unsigned long)error;
	reg->error_len = error_len < RUN_ERROR_LEN ? error_len : RUN_ERROR_LEN;

	return fill_choice(reg, &options, error, error_len);
}

/* A refusal without a text of its own. */
static int refused(int err, char *error, size_t error_len)
{
	if (err < 0 && error_len && !*error)
		snprintf(error, error_len, "%s", syscript_strerror(err));
	return err;
}

int syscript_register(const void *image, size_t len, const struct syscript_options *options,
		      char *error, size_t error_len)
{
	struct syscript_register reg = {
		.image = (unsigned long)image,
		.image_len = len,
	};
	int ret;

	if (!error && error_len)
		return -EINVAL;
	if (error_len)
		*error = '\0';
	ret = fill_register(&reg, options, error, error_len);
	if (ret >= 0)
		ret = register_with(ret, &reg);
	return refused(ret, error, error_len);
}

int syscript_lint(const char *source, size_t len, const struct syscript_options *options,
		  char *text, size_t text_len)
{
	struct syscript_register reg = {
		.image = (unsigned long)source,
		.image_len = len,
	};
	int ret;

	if (!text || !text_len)
		return -EINVAL;
	*text = '\0';
	ret = fill_register(&reg, options, text, text_len);
	if (ret < 0)
		return refused(ret, text, text_len);
	reg.flags = SYSCRIPT_CHECK;
	return refused(user_lint(&reg, text, text_len), text, text_len);
}

int register_lua_syscall(const char *script, size_t size)
{
	return syscript_register(script, size, NULL, NULL, 0);
}

static int call_user(struct script *script, struct syscript_call *call)
{
	int err = user_call(script, call);

	user_fd_put(script);
	return err;
}

/* A watcher would have missed what the kernel's script @fd does. */
__attribute__((noinline))
static int call_moved(int fd, struct syscript_call *call)
{
	struct script *script;

	if (fallback_move(fd)) {
		__atomic_store_n(&kernel_is_watched, true, __ATOMIC_RELAXED);
		return -EOPNOTSUPP;
	}
	script = user_fd_get(fd);
	if (!script)
		return -EBADF;
	/* What the kernel wrote: a call begins without. */
	call->state = 0;
	return call_user(script, call);
}

static inline int call_any(int fd, struct syscript_call *call)
{
	struct script *script = user_fd_get(fd);
	int err;

	if (script)
		return call_user(script, call);
	err = device_call(fd, call);
	return err == -EOPNOTSUPP ? call_moved(fd, call) : err;
}

int syscript_call(int fd, unsigned int nargs, const int64_t *args,
		  unsigned int nresults_max, int64_t *results)
{
	struct syscript_call call;
	int err;

	if (nargs > SYSCRIPT_ARGS_MAX)
		return -EINVAL;
	device_call_begin(&call, nargs);
	for (unsigned int i = 0; i < nargs; i++)
		call.args[i] = args[i];

	err = call_any(fd, &call);
	if (err)
		return err;
	if (call.nresults > SYSCRIPT_RESULTS_MAX)
		call.nresults = SYSCRIPT_RESULTS_MAX;
	for (unsigned int i = 0; i < call.nresults && i < nresults_max; i++)
		results[i] = call.results[i];
	return call.nresults;
}

long (lua_syscall)(int fd, unsigned int nargs, ...)
{
	struct syscript_call call;
	va_list list;
	int err;

	if (nargs > SYSCRIPT_ARGS_MAX)
		return -EINVAL;
	device_call_begin(&call, nargs);
	va_start(list, nargs);
	for (unsigned int i = 0; i < nargs; i++)
		call.args[i] = va_arg(list, long);
	va_end(list);
	err = call_any(fd, &call);
	return err ? err : call.nresults ? (long)call.results[0] : 0;
}

static int text_any(int fd, struct syscript_text *text)
{
	struct script *script = user_fd_get(fd);
	int err;

	if (!script)
		return device_text(fd, text);
	err = user_text(script, text);
	user_fd_put(script);
	return err;
}

static int get_text(int fd, unsigned int which, char *buf, size_t len)
{
	struct syscript_text text = {
		.which = which,
		.len = len < OUTPUT_LEN ? len : OUTPUT_LEN,
		.buffer = (unsigned long)buf,
	};
	int err = text_any(fd, &text);

	return err < 0 ? err : (int)text.len;
}

int syscript_error(int fd, char *buf, size_t len)
{
	return get_text(fd, SYSCRIPT_TEXT_ERROR, buf, len);
}

int syscript_output(int fd, char *buf, size_t len)
{
	int there = get_text(fd, SYSCRIPT_TEXT_OUTPUT, buf, len);

	return there > 0 && (size_t)there > len ? (int)len : there;
}

int syscript_info(int fd, struct syscript_info *info)
{
	struct script *script = user_fd_get(fd);
	int err;

	memset(info, 0, sizeof(*info));
	if (!script)
		return device_info(fd, info);
	err = user_info(script, info);
	user_fd_put(script);
	return err;
}

int syscript_next(struct syscript_info *info)
{
	uint64_t after = info->id;
	int err = -ENOENT;

	/* Ids of the user backend have the top bit: the kernel is through then. */
	if (!(after >> 63)) {
		memset(info, 0, sizeof(*info));
		info->id = after;
		err = device_next(info);
	}
	if (!device_unavailable(err))
		return err;
	info->id = after;
	return user_next(info);
}

int syscript_backend(int fd)
{
	struct syscript_info info = { 0 };
	struct script *script = user_fd_get(fd);
	int err;

	if (script) {
		err = user_backend(script);
		user_fd_put(script);
		return err;
	}
	err = device_info(fd, &info);
	return err < 0 && err != -EXDEV ? err : SYSCRIPT_BACKEND_KERNEL;
}

int syscript_probe(enum syscript_backend backend)
{
	static const char source[] = "function run() end";
	struct syscript_register reg = {
		.flags = SYSCRIPT_CHECK,
		.image = (unsigned long)source,
		.image_len = sizeof(source) - 1,
		.name = "probe",
	};

	/* A cold start may be slow; the module's bound on limits may be low. */
	if (backend == SYSCRIPT_BACKEND_USER)
		reg.time_limit = USER_TIME_MAX;
	return register_with(backend, &reg);
}

int syscript_close(int fd)
{
	struct script *script = user_fd_get(fd);
	int err;

	if (script)
		user_fd_put(script);
	else
		fallback_drop(fd);
	err = sys_call(close, fd);
	if (script)
		user_fd_sweep();
	return err;
}
