// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Requests of the uapi header, answered in the process.  The order of checks
 * and the errors are those of the module's device.c and script.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys.h"
#include "user.h"

static bool name_ok(const char *name)
{
	size_t len = strnlen(name, SYSCRIPT_NAME_LEN);

	if (len == SYSCRIPT_NAME_LEN)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (name[i] < ' ' || name[i] > '~')
			return false;
	}
	return true;
}

static int check_register(const struct syscript_register *reg)
{
	if (reg->flags & ~SYSCRIPT_FLAGS || reg->reserved)
		return -EINVAL;
	if (!reg->source_len || (!reg->error && reg->error_len))
		return -EINVAL;
	if (reg->source_len > SYSCRIPT_SOURCE_MAX)
		return -E2BIG;
	return name_ok(reg->name) ? 0 : -EINVAL;
}

static int check_limits(unsigned long *memory, unsigned long *time, char *error, size_t len)
{
	if (!*memory)
		*memory = SYSCRIPT_MEMORY_DEFAULT;
	if (!*time)
		*time = SYSCRIPT_TIME_DEFAULT;
	if (*memory < SYSCRIPT_MEMORY_MIN || *memory > USER_MEMORY_MAX)
		snprintf(error, len, "memory limit %lu is outside %llu .. %lu bytes",
			 *memory, SYSCRIPT_MEMORY_MIN, USER_MEMORY_MAX);
	else if (*time > USER_TIME_MAX)
		snprintf(error, len, "time limit %lu is above %lu ns", *time, USER_TIME_MAX);
	else
		return 0;
	return -EINVAL;
}

static bool is_limit(int err)
{
	return err == -ETIME || err == -ENOBUFS;
}

/* The paper's way: over a limit means the end of the process. */
static void kill_self(void)
{
	sys_call(kill, sys_call(getpid), SIGKILL);
}

static struct script *script_create(const struct syscript_register *reg,
				    unsigned long memory, unsigned long time)
{
	struct script *script = user_mem_script();

	if (!script)
		return NULL;
	turn_init(&script->turn);
	script->hidden = -1;
	strcpy(script->name, reg->name);
	script->vm.stack = user_mem_stack(script);
	script->vm.memory_limit = memory;
	script->vm.time_limit = time;
	script->vm.name = script->name;
	script->vm.flags = reg->flags;
	if (!script->vm.stack) {
		user_destroy(script);
		return NULL;
	}
	return script;
}

/* A copy, as in the kernel: what is compiled does not change meanwhile. */
static int script_load(struct script *script, const struct syscript_register *reg)
{
	struct vm_load load = {
		.vm = &script->vm,
		.len = reg->source_len,
		.check = !!(reg->flags & SYSCRIPT_CHECK),
	};
	char *source = malloc(reg->source_len + 1);
	int err;

	if (!source)
		return -ENOMEM;
	user_copy_forget(script);
	err = port_copy_in(&script->vm, source, reg->source, reg->source_len);
	if (!err) {
		source[reg->source_len] = '\0';
		load.source = source;
		err = user_vm_open(script, &load);
	}
	free(source);
	return err;
}

static int put_error(const struct syscript_register *reg, const char *error)
{
	if (reg->error_len)
		snprintf((char *)reg->error, reg->error_len, "%s", error);
	return 0;
}

int user_register(struct syscript_register *reg)
{
	unsigned long memory = reg->memory_limit, time = reg->time_limit;
	char error[VM_ERROR_LEN] = "";
	struct script *script;
	int ret;

	ret = check_register(reg);
	if (ret)
		return ret;
	ret = check_limits(&memory, &time, error, sizeof(error)) ?:
		user_fd_quota(memory, error, sizeof(error)) ?:
		watchdog_start();
	if (ret) {
		put_error(reg, error);
		return ret;
	}
	script = script_create(reg, memory, time);
	if (!script)
		return -ENOMEM;
	ret = script_load(script, reg);
	if (ret)
		put_error(reg, script->vm.error);
	else if (!(reg->flags & SYSCRIPT_CHECK))
		ret = user_fd_publish(script);
	if (ret < 0 || reg->flags & SYSCRIPT_CHECK)
		user_destroy(script);
	if (is_limit(ret) && reg->flags & SYSCRIPT_KILL)
		kill_self();
	return ret;
}

static int check_args(struct script *script, const struct syscript_call *call)
{
	for (unsigned int i = 0; i < call->nargs; i++) {
		if (call->args[i] >= -SYSCRIPT_INT_MAX && call->args[i] <= SYSCRIPT_INT_MAX)
			continue;
		if (!script->dead)
			snprintf(script->vm.error, sizeof(script->vm.error),
				 "argument %u, %lld, is beyond +-2^53", i + 1,
				 (long long)call->args[i]);
		return -ERANGE;
	}
	return 0;
}

/* Output, error text and counters stay. */
static void script_die(struct script *script, int err)
{
	script->dead = true;
	script->kills++;
	user_mem_release(script);
	script->vm.stats.memory = 0;
	script->vm.stats.mcode = 0;
	user_fd_dead(script);
	if (is_limit(err) && script->vm.flags & SYSCRIPT_KILL)
		kill_self();
}

static int script_run(struct script *script, struct syscript_call *call)
{
	long long results[SYSCRIPT_RESULTS_MAX] = { 0 };
	struct vm_run run = {
		.vm = &script->vm,
		.nargs = call->nargs,
		.args = (const long long *)call->args,
		.results = results,
	};
	unsigned int n;
	int err;

	if (script->dead)
		return -ENOTRECOVERABLE;
	script->calls++;
	err = user_vm_run(script, &run);
	if (is_limit(err) || err == -ECANCELED)
		script_die(script, err);
	else if (err)
		script->errors++;
	if (err)
		return err;
	call->nresults = run.nresults;
	n = run.nresults < SYSCRIPT_RESULTS_MAX ? run.nresults : SYSCRIPT_RESULTS_MAX;
	memcpy(call->results, results, n * sizeof(results[0]));
	return 0;
}

int user_call(struct script *script, struct syscript_call *call)
{
	int err;

	if (user_fd_foreign(script))
		return -EXDEV;
	if (call->flags || call->reserved || call->nargs > SYSCRIPT_ARGS_MAX)
		return -EINVAL;
	err = turn_take(&script->turn);
	if (err)
		return err;
	err = check_args(script, call) ?: script_run(script, call);
	turn_give(&script->turn);
	return err;
}

static unsigned int text_error(struct script *script, char *buf, unsigned int len)
{
	if (len)
		snprintf(buf, len, "%s", script->vm.error);
	return strlen(script->vm.error);
}

int user_text(struct script *script, struct syscript_text *text)
{
	char *buf = (char *)text->buffer;
	int err;

	if (user_fd_foreign(script))
		return -EXDEV;
	if (text->which > SYSCRIPT_TEXT_OUTPUT)
		return -EINVAL;
	err = turn_take(&script->turn);
	if (err)
		return err;
	text->len = text->which == SYSCRIPT_TEXT_ERROR ? text_error(script, buf, text->len) :
		vm_take_output(&script->vm, buf, text->len);
	turn_give(&script->turn);
	return 0;
}

/* Without a turn, so that a run can be looked at. */
static void fill_info(const struct script *script, struct syscript_info *info)
{
	const struct vm_stats *stats = &script->vm.stats;

	memset(info, 0, sizeof(*info));
	info->id = script->id;
	info->pid = sys_call(getpid);
	info->uid = sys_call(getuid);
	info->flags = script->vm.flags;
	info->state = script->dead ? SYSCRIPT_STATE_DEAD :
		script->turn.held ? SYSCRIPT_STATE_RUNNING : SYSCRIPT_STATE_READY;
	strcpy(info->name, script->name);
	info->memory_limit = script->vm.memory_limit;
	info->time_limit = script->vm.time_limit;
	info->memory = stats->memory;
	info->memory_peak = stats->memory_peak;
	info->mcode = stats->mcode;
	info->calls = script->calls;
	info->errors = script->errors;
	info->kills = script->kills;
	info->run_time = stats->run_time;
	info->syscalls = stats->syscalls;
	info->traces = stats->traces;
}

int user_info(struct script *script, struct syscript_info *info)
{
	if (user_fd_foreign(script))
		return -EXDEV;
	fill_info(script, info);
	return 0;
}

int user_next(struct syscript_info *info)
{
	struct script *script = user_fd_next(info->id);

	if (!script)
		return -ENOENT;
	fill_info(script, info);
	user_fd_put(script);
	return 0;
}

void user_destroy(struct script *script)
{
	user_mem_release(script);
	free(script->batch);
	user_mem_free_script(script);
}
