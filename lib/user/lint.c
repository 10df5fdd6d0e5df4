// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Linting a script: a program that is made and never run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../engine/luajit/vm.h"
#include "request.h"
#include "user.h"

static int lint(struct run *run, const struct syscript_register *reg, const char *image,
		struct vm_findings *findings)
{
	const struct engine_image source = { .data = image, .len = reg->image_len };

	run->engine = &luajit_engine;
	run->name = reg->name;
	run->flags = reg->flags;
	run->memory_limit = USER_MEMORY_MAX;
	run->time_limit = USER_TIME_MAX;
	run->wall_limit = SYSCRIPT_NO_LIMIT;
	return luajit_lint(run, &source, findings);
}

int user_lint(const struct syscript_register *reg, char *text, size_t size)
{
	struct vm_findings findings = { .text = text, .size = size };
	struct run *run;
	char *image;
	int err;

	err = request_check_register(reg) ?: clock_start() ?: user_copy_image(&image, reg);
	if (err)
		return err;
	run = run_create();
	err = run ? lint(run, reg, image, &findings) : -ENOMEM;
	if (run && err)
		snprintf(text, size, "%s", run->error);
	if (run)
		run_destroy(run);
	free(image);
	return err ?: (int)findings.n;
}
