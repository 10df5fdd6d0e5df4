// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The requests of the uapi header, in the process.  The order of checks and the
 * errors are those of the module's device.c and script.c.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "request.h"
#include "sys.h"
#include "user/tools.h"
#include "turn.h"
#include "user.h"

/* For SYSCRIPT_KILL. */
static void kill_self(void)
{
	sys_call(kill, sys_call(getpid), SIGKILL);
}

/*
 * Copies the image, as the kernel does, so that it does not change while it is compiled. 0 or
 * -errno.
 */
int user_copy_image(char **copy, const struct syscript_register *reg)
{
	char *image;

	if (!usermem_is_readable(reg->image, reg->image_len))
		return -EFAULT;
	image = malloc(reg->image_len + 1);
	if (!image)
		return -ENOMEM;
	memcpy(image, (const void *)reg->image, reg->image_len);
	image[reg->image_len] = '\0';
	*copy = image;
	return 0;
}

/* The id of the script in the kernel that @script only hosts, or 0. */
static unsigned long long kernel_id(const struct script *script)
{
	return READ_ONCE(run_priv(script->program->run)->kernel_id);
}

bool user_is_in_kernel(const struct script *script)
{
	return kernel_id(script);
}

/* With a reference for user_fd_put(). */
static int find_base(struct script **base, const struct syscript_register *reg, char *error)
{
	struct script *script;

	if (!(reg->flags & SYSCRIPT_EXTENDS))
		return 0;
	script = reg->base <= INT_MAX ? user_fd_get(reg->base) : NULL;
	if (!script) {
		snprintf(error, RUN_ERROR_LEN, "base: descriptor %llu is no script in this process",
			 (unsigned long long)reg->base);
		return -EBADF;
	}
	if (user_fd_foreign(script)) {
		user_fd_put(script);
		return -EXDEV;
	}
	*base = script;
	return 0;
}

static int load(struct script *script, const struct syscript_register *reg, char *error)
{
	unsigned int depth;
	char *image = NULL;
	int err = find_base(&script->base, reg, error) ?: user_copy_image(&image, reg);

	if (!err) {
		depth = signals_open();
		err = program_load(script->program, reg, image,
				   script->base ? script->base->program : NULL, error);
		signals_shut(depth);
	}
	free(image);
	return err;
}

/* Starts the clock thread for engines that do not read the clock. */
static int watch(struct script *script, const struct syscript_register *reg)
{
	const struct engine_ops *engine = engine_get(reg->engine);
	int err = engine && engine->interrupt ? clock_get() : 0;

	script->is_watched = engine && engine->interrupt && !err;
	return err;
}

static int create(struct script **created, const struct syscript_register *reg, char *error)
{
	struct script *script = user_fd_alloc();
	int err;

	if (!script)
		return -ENOMEM;
	err = watch(script, reg) ?:
	      program_create(&script->program, reg, CONTEXT_PROCESS, error);
	if (err) {
		if (script->is_watched)
			clock_put();
		user_fd_free(script);
		return err;
	}
	err = load(script, reg, error);
	if (err) {
		user_destroy(script);
		return err;
	}
	ticket_init(&script->turn);
	script->hidden = -1;
	*created = script;
	return 0;
}

static int create_and_publish(const struct syscript_register *reg, char *error)
{
	bool checks = reg->flags & SYSCRIPT_CHECK;
	struct script *script;
	int ret = create(&script, reg, error);

	if (ret)
		return ret;
	if (!checks)
		ret = user_fd_publish(script, error);
	if (ret < 0 || checks)
		user_destroy(script);
	return ret;
}

/* Guards and copies of arenas are by pages of PAGE_SIZE. */
static int check_pages(char *error)
{
	unsigned long size = arch_page_size();

	if (size == PAGE_SIZE)
		return 0;
	snprintf(error, RUN_ERROR_LEN,
		 "pages of %lu bytes: boot a kernel with pages of 4096 bytes to run scripts", size);
	return -EOPNOTSUPP;
}

int user_register(struct syscript_register *reg)
{
	char error[RUN_ERROR_LEN] = "";
	int ret = request_check_register(reg);

	if (ret)
		return ret;
	/* A process has only bases of its own. */
	if (reg->flags & SYSCRIPT_SHARED)
		return -EINVAL;
	/* Once for all locks, except while the program is loaded. */
	signals_block();
	user_fd_sweep();
	ret = check_pages(error) ?: create_and_publish(reg, error);
	signals_unblock();
	if (ret >= 0)
		return ret;
	if (reg->error_len)
		snprintf((char *)reg->error, reg->error_len, "%s", error);
	if (program_kills(reg->flags, ret))
		kill_self();
	return ret;
}

int user_failed(struct script *script, int err)
{
	if (!program_is_alive(script->program))
		user_fd_dead(script);
	if (program_kills(script->program->flags, err))
		kill_self();
	return err;
}

/* Also tells sanitizers, which do not see the turn's own instructions. */
static int take_turn(struct script *script)
{
	int err = turn_take(script);

	if (!err)
		tools_acquire(script);
	return err;
}

static void give_turn(struct script *script)
{
	tools_release(script);
	ticket_give(&script->turn);
}

static int run(struct script *script, struct syscript_call *call)
{
	struct syscript_call copy = *call;
	unsigned int n;
	int err;

	/* A run that did not finish leaves the caller's results unchanged. */
	err = program_call(script->program, &copy);
	if (!err) {
		call->nresults = copy.nresults;
		n = copy.nresults < SYSCRIPT_RESULTS_MAX ? copy.nresults : SYSCRIPT_RESULTS_MAX;
		memcpy(call->results, copy.results, n * sizeof(copy.results[0]));
		return 0;
	}
	return user_failed(script, err);
}

int user_call(struct script *script, struct syscript_call *call)
{
	int err;

	if (user_fd_foreign(script))
		return -EXDEV;
	err = request_check_call(call) ?: take_turn(script);
	if (err)
		return err;
	/* A run here would change the memory under calls in the kernel, which do not know of it. */
	err = turn_has_calls(script) ? -EBUSY : run(script, call);
	give_turn(script);
	return err;
}

static unsigned int text_error(const struct run *run, char *buf, unsigned int len)
{
	if (len)
		snprintf(buf, len, "%s", run->error);
	return strlen(run->error);
}

/* Like output_take(). */
static unsigned int text_output(struct run *run, char *buf, unsigned int n)
{
	struct output *output = run_priv(run)->output;

	return output ? output_take(output, buf, n) : 0;
}

int user_text(struct script *script, struct syscript_text *text)
{
	struct run *run = script->program->run;
	char *buf = (char *)text->buffer;
	size_t len = text->len;
	bool lent;
	int err;

	if (user_fd_foreign(script))
		return -EXDEV;
	if (text->which > SYSCRIPT_TEXT_OUTPUT)
		return -EINVAL;
	signals_block();
	err = turn_get(script, &lent);
	if (err) {
		signals_unblock();
		return err;
	}
	tools_acquire(script);
	text->len = text->which == SYSCRIPT_TEXT_ERROR ? text_error(run, buf, text->len) :
		text_output(run, buf, text->len);
	tools_release(script);
	turn_put(script, lent);
	signals_unblock();
	tools_written(buf, len < text->len ? len : text->len);
	return 0;
}

/* @fd is not known to others yet. */
void user_tell(int fd, const char *text)
{
	struct script *script = user_fd_get(fd);

	if (!script)
		return;
	snprintf(script->program->run->error, RUN_ERROR_LEN, "%s", text);
	user_fd_put(script);
}

/* Without a turn, so that it can be called during a run. */
static void fill_info(struct script *script, struct syscript_info *info)
{
	memset(info, 0, sizeof(*info));
	program_info(script->program, info);
	info->id = kernel_id(script) ?: script->id;
	if (kernel_id(script) && info->state != SYSCRIPT_STATE_DEAD)
		info->state = run_priv(script->program->run)->kernel_runs ?
			SYSCRIPT_STATE_RUNNING : SYSCRIPT_STATE_READY;
	info->pid = sys_call(getpid);
	info->uid = sys_call(getuid);
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
	unsigned long long after = info->id;
	struct script *script;

	/* Scripts of the kernel are in the kernel's list. */
	while ((script = user_fd_next(after)) && kernel_id(script)) {
		after = script->id;
		user_fd_put(script);
	}
	if (!script)
		return -ENOENT;
	fill_info(script, info);
	user_fd_put(script);
	return 0;
}
