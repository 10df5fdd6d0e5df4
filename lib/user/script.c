// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The requests of the uapi header, in the process.  The order of checks and the
 * errors are those of the module's device.c and script.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "sys.h"
#include "syscript.h"
#include "user.h"

/* What SYSCRIPT_KILL asks for. */
static void kill_self(void)
{
	sys_call(kill, sys_call(getpid), SIGKILL);
}

/* As in the kernel: what is compiled does not change meanwhile.  0 or -errno. */
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

/* Where what is here is only the host of a script of the kernel: that one's number. */
static unsigned long long kernel_id(const struct script *script)
{
	return READ_ONCE(run_own(script->program->run)->kernel_id);
}

int user_backend(const struct script *script)
{
	return kernel_id(script) ? SYSCRIPT_BACKEND_KERNEL : SYSCRIPT_BACKEND_USER;
}

static int create(struct script **created, const struct syscript_register *reg, char *error)
{
	struct script *script = calloc(1, sizeof(*script));
	char *image = NULL;
	int err;

	if (!script)
		return -ENOMEM;
	err = program_create(&script->program, reg, error);
	if (err) {
		free(script);
		return err;
	}
	err = user_copy_image(&image, reg) ?:
		program_load(script->program, reg, image, error);
	free(image);
	if (err) {
		program_destroy(script->program);
		free(script);
		return err;
	}
	ticket_init(&script->turn);
	script->hidden = -1;
	*created = script;
	return 0;
}

int user_register(struct syscript_register *reg)
{
	char error[RUN_ERROR_LEN] = "";
	struct script *script;
	int ret;

	ret = request_check_register(reg) ?: clock_start();
	if (ret)
		return ret;
	ret = create(&script, reg, error);
	if (ret) {
		if (reg->error_len)
			snprintf((char *)reg->error, reg->error_len, "%s", error);
		if (program_kills(reg->flags, ret))
			kill_self();
		return ret;
	}
	if (!(reg->flags & SYSCRIPT_CHECK))
		ret = user_fd_publish(script);
	if (ret < 0 || reg->flags & SYSCRIPT_CHECK)
		user_destroy(script);
	return ret;
}

static int run(struct script *script, struct syscript_call *call)
{
	struct syscript_call copy = *call;
	unsigned int n;
	int err;

	/* What did not come to its end changes nothing of the caller's. */
	err = program_call(script->program, &copy);
	if (!err) {
		call->nresults = copy.nresults;
		n = copy.nresults < SYSCRIPT_RESULTS_MAX ? copy.nresults : SYSCRIPT_RESULTS_MAX;
		memcpy(call->results, copy.results, n * sizeof(copy.results[0]));
		return 0;
	}
	if (!program_is_alive(script->program))
		user_fd_dead(script);
	if (program_kills(script->program->flags, err))
		kill_self();
	return err;
}

int user_call(struct script *script, struct syscript_call *call)
{
	int err;

	if (user_fd_foreign(script))
		return -EXDEV;
	err = request_check_call(call) ?: ticket_take(&script->turn);
	if (err)
		return err;
	err = run(script, call);
	ticket_give(&script->turn);
	return err;
}

static unsigned int text_error(const struct run *run, char *buf, unsigned int len)
{
	if (len)
		snprintf(buf, len, "%s", run->error);
	return strlen(run->error);
}

int user_text(struct script *script, struct syscript_text *text)
{
	struct run *run = script->program->run;
	char *buf = (char *)text->buffer;
	int err;

	if (user_fd_foreign(script))
		return -EXDEV;
	if (text->which > SYSCRIPT_TEXT_OUTPUT)
		return -EINVAL;
	err = ticket_take(&script->turn);
	if (err)
		return err;
	text->len = text->which == SYSCRIPT_TEXT_ERROR ? text_error(run, buf, text->len) :
		output_take(&run->output, buf, text->len);
	ticket_give(&script->turn);
	return 0;
}

/* Without a turn, so that a run can be looked at. */
static void fill_info(struct script *script, struct syscript_info *info)
{
	memset(info, 0, sizeof(*info));
	program_info(script->program, info);
	info->id = kernel_id(script) ?: script->id;
	if (info->engine == SYSCRIPT_LUA_ON_CONFINED) {
		info->engine = SYSCRIPT_ENGINE_CONFINED;
		info->format = SYSCRIPT_CONFINED_BPF;
	}
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

	/* The kernel lists its own. */
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

void user_destroy(struct script *script)
{
	program_destroy(script->program);
	free(script);
}
