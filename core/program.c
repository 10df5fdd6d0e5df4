// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements program.h, for both the module and libsyscript: the engine's VM is made, called and
 * destroyed here, and its memory charged first and uncharged last.
 */
#include "platform.h"
#include "program.h"
#include "syscalls_nr.h"

#ifdef __KERNEL__
#include "kernel/engine_call.h"
#else
#define engine_call(engine, vm, call)	((engine)->call(vm, call))
#define noinline	__attribute__((noinline))
#endif

static bool is_limit(int err)
{
	return err == -ETIME || err == -ENOBUFS;
}

bool program_kills(u32 flags, int err)
{
	return is_limit(err) && flags & SYSCRIPT_KILL;
}

static void program_holds_nothing(struct program *program)
{
	unsigned int i;

	program->last_stats.memory = 0;
	for (i = 0; i < SYSCRIPT_COUNTERS_MAX; i++)
		if (program->engine->held & (1U << i))
			program->last_stats.counters[i] = 0;
}

static void program_end(struct program *program)
{
	struct engine_vm *vm = program->vm;

	if (!vm)
		return;
	/* 1. From here on program_info() shows the last counters instead. */
	platform_lock(&program->vm_lock);
	program->engine->stats(vm, &program->last_stats);
	program_holds_nothing(program);
	program->vm = NULL;
	platform_unlock(&program->vm_lock);
	WRITE_ONCE(program->corpse, vm);
}

void program_bury(struct program *program)
{
	struct engine_vm *vm = READ_ONCE(program->corpse);

	if (!vm)
		return;
	program->corpse = NULL;
	/* 2. Only this run can reach the VM: all others see NULL. */
	program->engine->destroy(vm);
	run_release(program->run);

	/* 3. Only now may the user's next program have the memory. */
	limits_uncharge_memory(program->account, program->charged);
	program->charged = 0;
}

void program_die(struct program *program)
{
	program_end(program);
	program_bury(program);
}

noinline void program_failed(struct program *program, int err)
{
	if (is_limit(err) || err == -ENOMEM || err == -ECANCELED) {
		WRITE_ONCE(program->kills, program->kills + 1);
		program_end(program);
		if (!PLATFORM_FREES_LATER)
			program_bury(program);
	} else {
		WRITE_ONCE(program->errors, program->errors + 1);
	}
}

int program_call(struct program *program, struct syscript_call *call)
{
	int err;

	if (unlikely(!program->vm))
		return -ENOTRECOVERABLE;
	WRITE_ONCE(program->calls, program->calls + 1);
	WRITE_ONCE(program->running, true);
	err = engine_call(program->engine, program->vm, call);
	WRITE_ONCE(program->running, false);
	if (unlikely(err))
		program_failed(program, err);
	return err;
}

void program_idle(struct program *program)
{
	if (program->vm && program->engine->idle)
		program->engine->idle(program->vm);
}

/* Neither step of program_die() can happen between the two reads. */
static void program_stats(struct program *program, struct engine_stats *stats,
			  struct syscript_info *info)
{
	platform_lock(&program->vm_lock);
	if (program->vm) {
		program->engine->stats(program->vm, stats);
		info->state = READ_ONCE(program->running) ?
			SYSCRIPT_STATE_RUNNING : SYSCRIPT_STATE_READY;
	} else {
		*stats = program->last_stats;
		info->state = SYSCRIPT_STATE_DEAD;
	}
	platform_unlock(&program->vm_lock);
}

static void program_counters(const struct program *program,
			     const struct engine_stats *stats,
			     struct syscript_counter *counters)
{
	unsigned int i;

	for (i = 0; i < SYSCRIPT_COUNTERS_MAX && program->engine->counters[i]; i++) {
		strscpy(counters[i].name, program->engine->counters[i],
			sizeof(counters[i].name));
		counters[i].value = stats->counters[i];
	}
}

void program_info(struct program *program, struct syscript_info *info)
{
	const struct run *run = program->run;
	struct engine_stats stats = { 0 };

	program_stats(program, &stats, info);
	program_counters(program, &stats, info->counters);
	info->flags = run->flags;	/* the engine may have added flags */
	strscpy(info->name, program->name, sizeof(info->name));
	info->engine = program->engine->id;
	info->format = program->format;
	strscpy(info->engine_name, program->engine->name, sizeof(info->engine_name));
	info->memory_limit = program->limits.memory;
	info->time_limit = program->limits.time;
	info->wall_limit = program->limits.wall;
	info->grace = program->limits.grace;
	info->memory = stats.memory;
	info->memory_peak = stats.memory_peak;
	info->calls = READ_ONCE(program->calls);
	info->errors = READ_ONCE(program->errors);
	info->kills = READ_ONCE(program->kills);
	info->run_time = READ_ONCE(run->time);
	info->syscalls = READ_ONCE(run->syscalls);
	info->preempt_max = READ_ONCE(run->preempt_max);
}

void program_code(struct program *program, engine_code_fn *add, void *arg)
{
	platform_lock(&program->vm_lock);
	if (program->vm && program->engine->code)
		program->engine->code(program->vm, add, arg);
	platform_unlock(&program->vm_lock);
}

static struct program *program_alloc(const struct syscript_register *reg)
{
	struct program *program = platform_zalloc(sizeof(*program));

	if (!program)
		return NULL;
	platform_lock_init(&program->vm_lock);
	program->flags = reg->flags;
	program->format = reg->format;
	program->limits.memory = reg->memory_limit;
	program->limits.time = reg->time_limit;
	program->limits.wall = reg->wall_limit;
	program->limits.grace = reg->grace;
	strscpy(program->name, reg->name, sizeof(program->name));
	return program;
}

static void program_free(struct program *program)
{
	/* The engine's part of the run is freed first, while its module is held. */
	if (program->run)
		run_destroy(program->run);
	if (program->engine)
		engine_put(program->engine);
	platform_free(program);
}

static int program_find_engine(struct program *program,
			       const struct syscript_register *reg, enum context context,
			       char *error)
{
	program->engine = engine_get(reg->engine);
	if (!program->engine) {
		scnprintf(error, RUN_ERROR_LEN, "there is no engine %u", reg->engine);
		return -EINVAL;
	}
	if (reg->format >= program->engine->formats) {
		scnprintf(error, RUN_ERROR_LEN, "engine %s has no format %u",
			  program->engine->name, reg->format);
		return -EINVAL;
	}
	if (!(program->engine->contexts & 1U << context)) {
		scnprintf(error, RUN_ERROR_LEN, "engine %s cannot run without a process",
			  program->engine->name);
		return -EOPNOTSUPP;
	}
	if (reg->flags & (SYSCRIPT_BASE | SYSCRIPT_EXTENDS) && !program->engine->extensible) {
		scnprintf(error, RUN_ERROR_LEN, "images of engine %s cannot extend others",
			  program->engine->name);
		return -EINVAL;
	}
	return 0;
}

static int program_check_image(const struct program *program,
			       const struct syscript_register *reg, char *error)
{
	if (reg->image_len <= program->limits.memory)
		return 0;
	scnprintf(error, RUN_ERROR_LEN, "%llu bytes of image, over the memory limit of %llu",
		  (unsigned long long)reg->image_len,
		  (unsigned long long)program->limits.memory);
	return -ENOBUFS;
}

static int program_charge(struct program *program, const struct syscript_register *reg,
			  enum context context, char *error)
{
	int err = program_find_engine(program, reg, context, error);

	if (!err)
		err = limits_resolve(&program->limits, error, RUN_ERROR_LEN);
	if (!err)
		err = program_check_image(program, reg, error);
	if (!err)
		err = limits_charge(&program->account, context, program->limits.memory,
				    error, RUN_ERROR_LEN);
	if (!err)
		program->charged = program->limits.memory;
	return err;
}

static const unsigned short numbers[] = {
#define SYSCALL(name, kinds, flags)	__NR_##name,
#include "syscalls.def"
};

int run_may_call(const struct run *run, unsigned int index)
{
	unsigned int nr = numbers[index];

	return !run->only || (nr / 64 < RUN_CALLS_WORDS && run->calls[nr / 64] >> nr % 64 & 1);
}

/* Does @base have no right that @run lacks? */
static bool has_less(const struct run *base, const struct run *run)
{
	unsigned int i;

	if (!run->only)
		return true;
	if (!base->only)
		return base->any_rights;
	if (base->libraries & ~run->libraries)
		return false;
	for (i = 0; i < RUN_CALLS_WORDS; i++)
		if (base->calls[i] & ~run->calls[i])
			return false;
	return true;
}

static void program_limit_rights(struct run *run, const struct syscript_register *reg)
{
	unsigned int i;

	run->only = !!(reg->flags & SYSCRIPT_ONLY);
	run->libraries = reg->libraries;
	for (i = 0; i < RUN_CALLS_WORDS; i++)
		run->calls[i] = reg->calls[i];
}

static int program_make_run(struct program *program, const struct syscript_register *reg,
			    enum context context)
{
	struct run *run = run_create(program->engine);

	if (!run)
		return -ENOMEM;
	run->name = program->name;
	run->context = context;
	run->flags = program->flags;
	run->memory_limit = program->limits.memory;
	run->time_limit = run->call_time_limit = program->limits.time;
	run->wall_limit = program->limits.wall;
	run->grace = program->limits.grace;
	program_limit_rights(run, reg);
	program->run = run;
	return 0;
}

int program_create(struct program **created, const struct syscript_register *reg,
		   enum context context, char *error)
{
	struct program *program = program_alloc(reg);
	int err;

	if (!program)
		return -ENOMEM;
	err = program_charge(program, reg, context, error);
	if (err) {
		program_free(program);
		return err;
	}
	err = program_make_run(program, reg, context);
	if (err) {
		program_destroy(program);
		return err;
	}
	*created = program;
	return 0;
}

/* A base is not called, so it cannot die before it is destroyed. */
static int program_find_base(struct engine_image *image, const struct program *program,
			     const struct program *base)
{
	if (!base)
		return 0;
	if (base->engine != program->engine || !(base->flags & SYSCRIPT_BASE)) {
		scnprintf(program->run->error, RUN_ERROR_LEN,
			  "the base has to be a script of engine %s with SYSCRIPT_BASE",
			  program->engine->name);
		return -EINVAL;
	}
	if (!has_less(base->run, program->run)) {
		scnprintf(program->run->error, RUN_ERROR_LEN,
			  "the base has rights that this script lacks");
		return -EINVAL;
	}
	image->base = base->vm;
	return 0;
}

int program_load(struct program *program, const struct syscript_register *reg,
		 const char *data, const struct program *base, char *error)
{
	struct engine_image image = {
		.data = data, .len = reg->image_len, .format = reg->format,
		.shared = reg->shared, .shared_len = reg->shared_len,
	};
	struct run *run = program->run;
	int err = program_find_base(&image, program, base);

	/*
	 * Reading a script takes time that depends on the machine, so the load has its own limit.
	 */
	run->time_limit = program->limits.load;
	if (!err)
		err = program->engine->create(run, &image);
	run->time_limit = run->call_time_limit;
	if (err)
		strscpy(error, run->error, RUN_ERROR_LEN);
	else
		program->vm = run->vm;
	return err;
}

void program_destroy(struct program *program)
{
	/* 1. The VM, unless it was destroyed earlier. */
	program_die(program);

	/*
	 * 2. The share, which another program may then have, and the charge of a program without
	 *    a VM.
	 */
	limits_uncharge(program->account, program->charged);

	/* 3. The structure, with its reference to the engine. */
	program_free(program);
}
