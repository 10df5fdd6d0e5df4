// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See source.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "source.h"

struct source source_read(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct source source = { .name = slash ? slash + 1 : path };
	FILE *file = fopen(path, "r");

	source.text = malloc(SYSCRIPT_IMAGE_MAX);
	if (!file || !source.text)
		measure_die("cannot read %s: %m", path);
	source.len = fread(source.text, 1, SYSCRIPT_IMAGE_MAX, file);
	if (ferror(file) || !source.len)
		measure_die("%s cannot be read or is empty", path);
	fclose(file);
	return source;
}

enum syscript_backend source_backend(void)
{
	const char *backend = getenv("SYSCRIPT_BACKEND");

	return backend && !strcmp(backend, "user") ? SYSCRIPT_BACKEND_USER :
						     SYSCRIPT_BACKEND_KERNEL;
}

int source_register(const struct source *source, enum syscript_backend backend,
		    uint32_t flags, uint64_t memory_limit, uint64_t time_limit_ns)
{
	struct syscript_options options = {
		.size = sizeof(options),
		.name = source->name,
		.flags = flags,
		.backend = backend,
		.memory_limit = memory_limit,
		.time_limit_ns = time_limit_ns,
	};
	char error[512] = "";
	int fd = syscript_register(source->text, source->len, &options, error, sizeof(error));

	if (fd < 0)
		measure_die("%s: %s", source->name, error);
	return fd;
}
