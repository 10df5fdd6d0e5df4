// SPDX-License-Identifier: GPL-2.0 OR MIT
/* All of the library's functions, in threads with the smallest possible stack. */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <syscript_files.h>

#include "lib_test.h"

static char source[1 << 16];
static size_t source_len;

/* A function of @depth nested loops and branches, and its callees. */
static void write_source(int depth)
{
	FILE *file = fmemopen(source, sizeof(source), "w");

	CHECK(file);
	fprintf(file, "local function add(a, b) return a + b end\nfunction run(n)\n  local t = 0\n");
	for (int i = 0; i < depth; i++)
		fprintf(file, "for i%d = 1, 1 do if n > %d then t = add(t, i%d)\n", i, i, i);
	for (int i = 0; i < depth; i++)
		fprintf(file, "end end\n");
	fprintf(file, "  return t\nend\n");
	source_len = ftell(file);
	fclose(file);
}

static void *work(void *unused)
{
	struct syscript_options options = { .size = sizeof(options), .time_limit_ns = 10000000000 };
	char error[256], text[256];
	int fd = syscript_register(source, source_len, &options, error, sizeof(error));

	(void)unused;
	if (fd < 0)
		fputs(error, stderr);
	CHECK(fd >= 0);
	CHECK_EQ(lua_syscall(fd, 1, 100L), 40);
	CHECK(lua_syscall(fd, 0) == -EPROTO && syscript_error(fd, error, sizeof(error)) > 0);
	CHECK_EQ(syscript_close(fd), 0);
	CHECK(syscript_lint(source, source_len, &options, error, sizeof(error)) >= 0);
	CHECK(syscript_open_read_close(AT_FDCWD, "/proc/self/comm", text, sizeof(text), NULL) > 0);
	CHECK_EQ(syscript_register("x", 1, &options, error, sizeof(error)), -ENOEXEC);
	return NULL;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	write_source(40);
	CHECK(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN));
	CHECK(!pthread_create(&thread, &attr, work, NULL));
	CHECK(!pthread_join(thread, NULL));
	return 0;
}
