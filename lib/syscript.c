// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The public functions: convert syscript.h's structures to those of the backends, and errors
 * back.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend_select.h"
#include "device.h"
#include "fallback.h"
#include "lua_host.h"
#include "lua_names.h"
#include "modules.h"
#include "rights.h"
#include "syscript.h"
#include "user/sys.h"
#include "user/tools.h"
#include "user/turn.h"
#include "user/user.h"

/* The size of the first version of struct syscript_options. */
#define OPTIONS_SIZE_1	offsetof(struct syscript_options, wall_limit_ns)

#define STRING(x)	#x
#define VERSION(a, b, c)	STRING(a) "." STRING(b) "." STRING(c)

const char *syscript_version(void)
{
	return VERSION(SYSCRIPT_VERSION_MAJOR, SYSCRIPT_VERSION_MINOR, SYSCRIPT_VERSION_PATCH);
}

int sized_copy(void *to, size_t size, size_t size_1, const void *given)
{
	const char *bytes = given;
	size_t len;

	memset(to, 0, size);
	if (!given)
		return 0;
	memcpy(&len, given, sizeof(len));
	if (len < size_1)
		return -EINVAL;
	for (size_t i = size; i < len; i++) {
		if (bytes[i])
			return -E2BIG;
	}
	memcpy(to, given, len < size ? len : size);
	return 0;
}

int options_copy(struct syscript_options *options, const struct syscript_options *given)
{
	return sized_copy(options, sizeof(*options), OPTIONS_SIZE_1, given);
}

/* Puts the script's modules into its text, which is then at @text, for free(). */
static int add_modules(struct syscript_register *reg, const struct syscript_options *options,
		       char **text, char *error, size_t error_len)
{
	size_t len;
	int err;

	if (!options->modules)
		return 0;
	if (options->engine && options->engine != SYSCRIPT_LUA_ON_LUAJIT &&
	    options->engine != SYSCRIPT_LUA_ON_CONFINED) {
		snprintf(error, error_len, "modules are for Lua, and this is an image");
		return -EINVAL;
	}
	err = modules_compile_in(text, &len, (const char *)reg->image, reg->image_len,
				 options->modules, error, error_len);
	if (err)
		return err;
	reg->image = (unsigned long)*text;
	reg->image_len = len;
	return 0;
}

/* Fills in @reg and @choice, and @text for free().  Returns 0 or -errno. */
static int fill_register(struct syscript_register *reg, struct choice *choice, char **text,
			 const struct syscript_options *given, char *error, size_t error_len)
{
	struct syscript_options options;
	int err;

	err = options_copy(&options, given);
	if (err)
		return err;
	if (options.name && strlen(options.name) >= sizeof(reg->name)) {
		snprintf(error, error_len, "the name is longer than %zu bytes",
			 sizeof(reg->name) - 1);
		return -EINVAL;
	}
	/* These flags make no script for the caller. */
	if (options.flags & SYSCRIPT_SHARED)
		return -EINVAL;
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
	reg->base = options.base;
	err = options.only ? rights_parse(reg, options.only, error, error_len) : 0;
	err = err ?: add_modules(reg, &options, text, error, error_len);
	if (err)
		return err;
	reg->error = (unsigned long)error;
	reg->error_len = error_len < RUN_ERROR_LEN ? error_len : RUN_ERROR_LEN;

	return choose(choice, reg, options.backend, options.engine, error, error_len);
}

/* Writes a text for a refusal that has none. */
static int refused(int err, char *error, size_t error_len)
{
	if (err < 0 && error_len && !*error)
		snprintf(error, error_len, "%s", syscript_strerror(err));
	return err;
}

/* malloc() would wait for itself. */
static int refuse_nested(char *error, size_t error_len)
{
	if (error_len)
		snprintf(error, error_len, "a signal handler has interrupted syscript_register() or "
			 "syscript_close(): register scripts outside of handlers");
	return -EDEADLK;
}

int syscript_register(const void *image, size_t len, const struct syscript_options *options,
		      char *error, size_t error_len)
{
	struct syscript_register reg = {
		.image = (unsigned long)image,
		.image_len = len,
	};
	const void *entry = turn_entry;
	struct choice choice;
	char *text = NULL;
	int ret;

	if (!error && error_len)
		return -EINVAL;
	if (error_len)
		*error = '\0';
	tools_written(error, error_len);
	if (turn_interrupts_entry(__builtin_frame_address(0)))
		return refuse_nested(error, error_len);
	turn_entry = __builtin_frame_address(0);
	ret = fill_register(&reg, &choice, &text, options, error, error_len) ?:
		choose_register(&choice, &reg);
	free(text);
	turn_entry = entry;
	return refused(ret, error, error_len);
}

int syscript_lint(const char *source, size_t len, const struct syscript_options *options,
		  char *text, size_t text_len)
{
	struct syscript_register reg = {
		.image = (unsigned long)source,
		.image_len = len,
	};
	struct choice choice;
	char *whole = NULL;
	int ret;

	if (!text || !text_len)
		return -EINVAL;
	*text = '\0';
	ret = fill_register(&reg, &choice, &whole, options, text, text_len);
	reg.flags = SYSCRIPT_CHECK;
	/* LuaJIT's compiler knows most mistakes; the other finds those of syntax. */
	if (!ret)
		ret = choose_has_luajit() ? user_lint(&reg, text, text_len) :
					    choose_register(&choice, &reg);
	free(whole);
	if (!ret && !choose_has_luajit())
		ret = lua_names_check(source, len, *reg.name ? reg.name : "script", text,
				      text_len);
	return refused(ret, text, text_len);
}

int register_lua_syscall(const char *script, size_t size)
{
	return syscript_register(script, size, NULL, NULL, 0);
}

static int call_user(struct script *script, struct syscript_call *call)
{
	int err = lua_call_kept(script, true, call->nargs, (int64_t *)call->args,
				SYSCRIPT_RESULTS_MAX, (int64_t *)call->results);

	if (err == -ESTALE) {
		err = user_call(script, call);
	} else if (err >= 0) {
		call->nresults = err;
		err = 0;
	}
	user_fd_put(script);
	return err;
}

/* An observer has stopped a run of the kernel's script @fd, whose calls it could not see. */
__attribute__((noinline))
static int call_moved(int fd, struct syscript_call *call)
{
	struct script *script;
	int err = fallback_move(fd);

	if (err == -EOPNOTSUPP)
		choose_is_watched();
	if (err)
		return err;
	script = user_fd_get(fd);
	if (!script)
		return -EBADF;
	/* The kernel writes these; they are cleared before a call. */
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

static int call_slowly(int fd, unsigned int nargs, const int64_t *args,
		       unsigned int nresults_max, int64_t *results)
{
	struct syscript_call call;
	int err;

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
	tools_written(results, (call.nresults < nresults_max ? call.nresults : nresults_max) *
			       sizeof(*results));
	return call.nresults;
}

/* The likely case in a process that hosts scripts of the kernel. */
int syscript_call(int fd, unsigned int nargs, const int64_t *args,
		  unsigned int nresults_max, int64_t *results)
{
	int err;

	if (nargs > SYSCRIPT_ARGS_MAX)
		return -EINVAL;
	if (__atomic_load_n(&user_fd_count, __ATOMIC_RELAXED)) {
		err = lua_call_quick(fd, nargs, args, nresults_max, results);
		if (err != -ESTALE)
			return err;
	}
	return call_slowly(fd, nargs, args, nresults_max, results);
}

long (lua_syscall)(int fd, unsigned int nargs, ...)
{
	struct syscript_call call;
	int64_t result = 0;
	va_list list;
	int err;

	if (nargs > SYSCRIPT_ARGS_MAX)
		return -EINVAL;
	va_start(list, nargs);
	for (unsigned int i = 0; i < nargs; i++)
		call.args[i] = va_arg(list, long);
	va_end(list);
	if (__atomic_load_n(&user_fd_count, __ATOMIC_RELAXED)) {
		err = lua_call_quick(fd, nargs, (int64_t *)call.args, 1, &result);
		if (err != -ESTALE)
			return err > 0 ? (long)result : err;
	}
	device_call_begin(&call, nargs);
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

/* Lua on the confined engine is an engine of the library alone. Returns @err. */
static int name_engine(int err, struct syscript_info *info)
{
	if (!err && info->engine == SYSCRIPT_LUA_ON_CONFINED) {
		info->engine = SYSCRIPT_ENGINE_CONFINED;
		info->format = SYSCRIPT_CONFINED_BPF;
	}
	return err;
}

int syscript_info(int fd, struct syscript_info *info)
{
	struct script *script = user_fd_get(fd);
	int err;

	memset(info, 0, sizeof(*info));
	tools_written(info, sizeof(*info));
	if (!script)
		return device_info(fd, info);
	err = name_engine(user_info(script, info), info);
	user_fd_put(script);
	return err;
}

int syscript_next(struct syscript_info *info)
{
	uint64_t after = info->id;
	int err = -ENOENT;

	/* Ids of the user backend have the top bit set: the kernel has no more scripts. */
	if (!(after >> 63)) {
		memset(info, 0, sizeof(*info));
		info->id = after;
		err = device_next(info);
	}
	if (!device_unavailable(err))
		return err;
	info->id = after;
	return name_engine(user_next(info), info);
}

int syscript_backend(int fd)
{
	struct syscript_info info = { 0 };
	struct script *script = user_fd_get(fd);
	int err;

	if (script) {
		err = user_is_in_kernel(script) ? SYSCRIPT_BACKEND_KERNEL : SYSCRIPT_BACKEND_USER;
		user_fd_put(script);
		return err;
	}
	err = device_info(fd, &info);
	return err < 0 && err != -EXDEV ? err : SYSCRIPT_BACKEND_KERNEL;
}

int syscript_probe(enum syscript_backend backend)
{
	return choose_probe(backend);
}

int syscript_close(int fd)
{
	struct script *script = user_fd_get(fd);
	const void *entry = turn_entry;
	int err;

	turn_entry = __builtin_frame_address(0);
	if (script)
		user_fd_put(script);
	else
		fallback_drop(fd);
	err = sys_call(close, fd);
	if (script)
		user_fd_sweep();
	turn_entry = entry;
	return err;
}
