// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What a user who may open nothing but the confined engine's device pays for scripts: to
 * register one, and to keep one.  For bench/everyone.py, which starts it as such a user.
 *
 * usage: everyone ROUNDS SCRIPT MEMORY
 *
 * MEMORY is the memory.current of its control group.  Writes JSON: of each registration of
 * SCRIPT but the first the ns; the scripts that were open at once, which have been called;
 * and the bytes of each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"
#include "source.h"

#define KEPT_MAX	64

static const char kept_text[] = "function run(n) return n + 1 end";
static const struct source kept = { "kept", (char *)kept_text, sizeof(kept_text) - 1 };

/* A descriptor, or -errno. */
static int register_one(const struct source *source)
{
	const struct syscript_options options = {
		.size = sizeof(options), .name = source->name,
		.backend = SYSCRIPT_BACKEND_KERNEL, .engine = SYSCRIPT_LUA_ON_CONFINED,
	};
	char error[256];

	return syscript_register(source->text, source->len, &options, error, sizeof(error));
}

static double sample_register(const struct source *source)
{
	uint64_t since = measure_now();
	int fd = register_one(source);
	double ns = measure_now() - since;

	if (fd < 0)
		measure_die("%s: %s", source->name, syscript_strerror(fd));
	syscript_close(fd);
	return ns;
}

static double memory_now(const char *path)
{
	FILE *file = fopen(path, "r");
	double bytes;

	if (!file || fscanf(file, "%lf", &bytes) != 1)
		measure_die("cannot read %s", path);
	fclose(file);
	return bytes;
}

static void measure_kept(const char *memory)
{
	int fds[KEPT_MAX], n = 0;
	double before = memory_now(memory), after;

	while (n < KEPT_MAX && (fds[n] = register_one(&kept)) >= 0) {
		if (lua_syscall(fds[n], 1, 41) != 42)
			measure_die("a script returns something else");
		n++;
	}
	after = memory_now(memory);
	printf("\"kept\": %d, \"bytes\": %.0f", n, n ? (after - before) / n : 0);
	while (n)
		syscript_close(fds[--n]);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	struct source source;

	if (!rounds)
		measure_die("usage: everyone ROUNDS SCRIPT MEMORY");
	source = source_read(argv[2]);
	sample_register(&source);
	printf("{\"register\": [");
	for (unsigned int i = 0; i < rounds; i++)
		printf("%s%.0f", i ? ", " : "", sample_register(&source));
	printf("], ");
	measure_kept(argv[3]);
	printf("}\n");
	return 0;
}
