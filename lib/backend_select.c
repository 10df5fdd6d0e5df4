// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements backend_select.h: of the engines and backends that options and environment allow, a
 * script gets the first that takes it.
 */
#include <errno.h>
#include <linux/syscript_image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend_select.h"
#include "compound.h"
#include "device.h"
#include "fallback.h"
#include "lua_host.h"
#include "lua_image.h"
#include "user/tools.h"
#include "user/user.h"

/* -- The caller's choice ------------------------------------------------------------- */

/* Replaces AUTO by the environment's choice. Returns a backend or -EINVAL. */
static int choose_backend(enum syscript_backend backend)
{
	const char *env;

	if (backend != SYSCRIPT_BACKEND_AUTO)
		return backend == SYSCRIPT_BACKEND_KERNEL || backend == SYSCRIPT_BACKEND_USER ?
			(int)backend : -EINVAL;
	env = secure_getenv("SYSCRIPT_BACKEND");
	if (!env || !*env || !strcmp(env, "auto"))
		return on_valgrind() ? SYSCRIPT_BACKEND_USER : SYSCRIPT_BACKEND_AUTO;
	if (!strcmp(env, "kernel"))
		return SYSCRIPT_BACKEND_KERNEL;
	if (!strcmp(env, "user"))
		return SYSCRIPT_BACKEND_USER;
	return -EINVAL;
}

/* As above for engines: a value for options.engine, 0 for any engine of Lua, or -EINVAL. */
static int choose_engine(unsigned int engine)
{
	const char *env;

	if (engine)
		return engine;
	env = secure_getenv("SYSCRIPT_ENGINE");
	if (!env || !*env || !strcmp(env, "auto"))
		return 0;
	if (!strcmp(env, "luajit"))
		return SYSCRIPT_LUA_ON_LUAJIT;
	return strcmp(env, "confined") ? -EINVAL : SYSCRIPT_LUA_ON_CONFINED;
}

bool choose_has_luajit(void)
{
	return engine_get(SYSCRIPT_ENGINE_LUAJIT);
}

int choose(struct choice *choice, struct syscript_register *reg,
	   enum syscript_backend backend, unsigned int engine, char *error, size_t error_len)
{
	int where = choose_backend(backend), what = choose_engine(engine);

	if (where < 0)
		snprintf(error, error_len,
			 "unknown backend: SYSCRIPT_BACKEND must be auto, kernel or user");
	else if (what < 0)
		snprintf(error, error_len,
			 "unknown engine: SYSCRIPT_ENGINE must be auto, luajit or confined");
	if (where < 0 || what < 0)
		return -EINVAL;
	if (what == SYSCRIPT_LUA_ON_LUAJIT && !choose_has_luajit()) {
		snprintf(error, error_len,
			 "engine luajit is for x86-64 only: choose auto or confined");
		return -EOPNOTSUPP;
	}
	choice->backend = where;
	choice->engine = !what;
	reg->engine = !what || what == SYSCRIPT_LUA_ON_LUAJIT ? SYSCRIPT_ENGINE_LUAJIT : what;
	return 0;
}

/* -- The kernel --------------------------------------------------------------------- */

static bool kernel_is_watched;

void choose_is_watched(void)
{
	__atomic_store_n(&kernel_is_watched, true, __ATOMIC_RELAXED);
}

static bool is_watched(void)
{
	return __atomic_load_n(&kernel_is_watched, __ATOMIC_RELAXED);
}

bool choose_batches(void)
{
	int backend = choose_backend(SYSCRIPT_BACKEND_AUTO), engine = choose_engine(0);

	return !is_watched() &&
	       (backend == SYSCRIPT_BACKEND_AUTO || backend == SYSCRIPT_BACKEND_KERNEL) &&
	       (!engine || engine == SYSCRIPT_LUA_ON_CONFINED);
}

static int register_in_kernel(struct syscript_register *reg, bool may_move)
{
	int ret = device_register(reg);

	if (ret < 0 || reg->flags & SYSCRIPT_CHECK)
		return ret;
	if (may_move)
		fallback_add(ret, reg);
	else
		fallback_drop(ret);
	return ret;
}

/* Registers Lua on the confined engine; @format selects the backend, see lua_host.h. */
static int register_confined(const struct syscript_register *reg, unsigned int format)
{
	struct syscript_register confined = *reg;

	confined.engine = lua_engine.id;
	confined.format = format;
	return user_register(&confined);
}

/* Errors for scripts of any engine: scripts are switched off, or the thread is watched. */
static bool refuses_all(int err)
{
	return err == -EOPNOTSUPP || err == -ESHUTDOWN;
}

static char *text_of(const struct syscript_register *reg)
{
	return (char *)(unsigned long)reg->error;
}

/* Why the kernel's LuaJIT cannot be used. */
static const char *luajit_text(int err)
{
	switch (err) {
	case -EACCES:
		return DEVICE_PATH_LUAJIT " may not be opened: join its group (usermod -aG syscript USER, then log in again)";
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		return "there is no " DEVICE_PATH_LUAJIT ": load its module (modprobe syscript_luajit)";
	}
	return syscript_strerror(err);
}

/* LuaJIT's engine was requested, and has refused the script. */
static int tell_luajit(const struct syscript_register *reg, int luajit)
{
	if (reg->error_len && !*text_of(reg))
		snprintf(text_of(reg), reg->error_len, "%s", luajit_text(luajit));
	return luajit;
}

/* Both engines have refused the script. */
static int tell_both(const struct syscript_register *reg, int luajit, int confined)
{
	char why[RUN_ERROR_LEN] = "";

	if (!reg->error_len)
		return confined;
	snprintf(why, sizeof(why), "%s", text_of(reg));
	snprintf(text_of(reg), reg->error_len, "LuaJIT's engine: %s; the confined engine: %s",
		 luajit_text(luajit), *why ? why : syscript_strerror(confined));
	return confined;
}

/* The caller has chosen the backend, so no other backend is tried. */
static int register_kernel(const struct choice *choice, struct syscript_register *reg)
{
	int ret = register_in_kernel(reg, false), confined;

	if (!device_unavailable(ret) || refuses_all(ret))
		return ret;
	if (!choice->engine)
		return reg->engine == SYSCRIPT_ENGINE_LUAJIT ? tell_luajit(reg, ret) : ret;
	confined = register_confined(reg, SYSCRIPT_BACKEND_KERNEL);
	return device_unavailable(confined) ? tell_both(reg, ret, confined) : confined;
}

/* -- Trying backends ----------------------------------------------------------------- */

/* Registers in the process, and keeps the kernel's reason where syscript_error() finds it. */
static int register_after(struct syscript_register *reg)
{
	char why[RUN_ERROR_LEN] = "";
	int ret;

	if (reg->error_len) {
		snprintf(why, sizeof(why), "%s", text_of(reg));
		*text_of(reg) = '\0';
	}
	ret = user_register(reg);
	if (ret >= 0 && *why && !(reg->flags & SYSCRIPT_CHECK))
		user_tell(ret, why);
	return ret;
}

static int register_auto(const struct choice *choice, struct syscript_register *reg)
{
	int ret = -EOPNOTSUPP;

	if (!is_watched())
		ret = register_in_kernel(reg, true);
	if (!device_unavailable(ret))
		return ret;
	if (!choice->engine || refuses_all(ret) || reg->flags & SYSCRIPT_CHECK ||
	    !compound_engine_is_there())
		return user_register(reg);
	ret = register_confined(reg, LUA_HOST_OR_ANOTHER);
	return ret == -EOPNOTSUPP ? register_after(reg) : ret;
}

static unsigned int confined_backend(const struct choice *choice)
{
	return choice->backend == SYSCRIPT_BACKEND_AUTO && is_watched() ? SYSCRIPT_BACKEND_USER :
									  choice->backend;
}

int choose_register(const struct choice *choice, struct syscript_register *reg)
{
	if (reg->engine == lua_engine.id ||
	    (reg->engine == SYSCRIPT_ENGINE_LUAJIT && !choose_has_luajit()))
		return register_confined(reg, confined_backend(choice));
	switch (choice->backend) {
	case SYSCRIPT_BACKEND_AUTO:
		return register_auto(choice, reg);
	case SYSCRIPT_BACKEND_USER:
		return user_register(reg);
	case SYSCRIPT_BACKEND_KERNEL:
		break;
	}
	return register_kernel(choice, reg);
}

/* -- Availability --------------------------------------------------------------------- */

/* Does the kernel's confined engine accept images of this thread? */
static int probe_engine(void)
{
	static const struct {
		struct image_header header;
		struct image_func func;
		struct image_insn exit;
	} image = {
		.header = {
			.magic = IMAGE_MAGIC, .version = IMAGE_VERSION, .machine = IMAGE_MACHINE,
			.ninsns = 1, .nfuncs = 1,
			.arena_shift = IMAGE_ARENA_SHIFT_MIN,
		},
		.exit = { .code = INSN_JMP | INSN_EXIT },
	};
	struct syscript_register reg = {
		.engine = SYSCRIPT_ENGINE_CONFINED, .format = SYSCRIPT_CONFINED_BPF,
		.flags = SYSCRIPT_CHECK, .name = "probe",
		.image = (unsigned long)&image, .image_len = sizeof(image),
	};

	return device_register(&reg);
}

/* If Lua's runtime is installed, the engine runs scripts: to register one would take far longer. */
static bool probe_confined(void)
{
	const struct cosy_file *file;

	return !probe_engine() && !lua_image(&file, NULL, 0);
}

/* Tests by a script with SYSCRIPT_CHECK. */
static int probe_script(enum syscript_backend backend)
{
	static const char source[] = "function run() end";
	const struct choice choice = { .backend = backend, .engine = true };
	struct syscript_register reg = {
		.flags = SYSCRIPT_CHECK,
		.image = (unsigned long)source,
		.image_len = sizeof(source) - 1,
		.name = "probe",
	};

	/* The first start may be slow, and the module's maximum for limits may be low. */
	if (backend == SYSCRIPT_BACKEND_USER)
		reg.time_limit = USER_TIME_MAX;
	return choose_register(&choice, &reg);
}

int choose_probe(enum syscript_backend backend)
{
	if (backend == SYSCRIPT_BACKEND_KERNEL && probe_confined())
		return 0;
	return probe_script(backend);
}
