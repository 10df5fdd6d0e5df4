// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Linting a script: a program that is made and never run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "request.h"
#include "user.h"

static int lint(const struct engine_ops *engine, const struct syscript_register *reg,
		const char *image, struct engine_findings *findings)
{
	const struct engine_image source = { .data = image, .len = reg->image_len };
	struct run *run = run_create(engine);
	int err;

	if (!run)
		return -ENOMEM;
	run->name = reg->name;
	run->flags = reg->flags;
	run->memory_limit = USER_MEMORY_MAX;
	run->time_limit = USER_TIME_MAX;
	run->wall_limit = SYSCRIPT_NO_LIMIT;
	err = engine->lint(run, &source, findings);
	if (err)
		snprintf(findings->text, findings->size, "%s", run->error);
	run_destroy(run);
	return err;
}

int user_lint(const struct syscript_register *reg, char *text, size_t size)
{
	struct engine_findings findings = { .text = text, .size = size };
	const struct engine_ops *engine = engine_get(SYSCRIPT_ENGINE_LUAJIT);
	char *image;
	int err;

	if (!engine)
		return -ENOSYS;
	err = request_check_register(reg) ?: clock_get();
	if (err)
		return err;
	err = user_copy_image(&image, reg);
	if (!err) {
		err = lint(engine, reg, image, &findings);
		free(image);
	}
	clock_put();
	return err ?: (int)findings.n;
}
