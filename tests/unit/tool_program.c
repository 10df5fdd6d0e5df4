// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Registers and calls scripts in threads, in uninitialised memory; for test_tools.py. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <syscript.h>

static const char source[] =
	"function run(n, path, buf, size)\n"
	"  if n < 0 then error('negative') end\n"
	"  if path == 0 then return n + 1, n + 2 end\n"
	"  local fd = syscall.open(path, const.O_RDONLY)\n"
	"  local got = syscall.read(fd, buf, size)\n"
	"  syscall.close(fd)\n"
	"  return got\n"
	"end\n";
static int script;

static int load(void)
{
	char *error = malloc(400);
	int fd = syscript_register(source, sizeof(source) - 1, NULL, error, 400);

	if (fd < 0 || error[0])
		puts(error);
	free(error);
	return fd;
}

static void call(int fd, int64_t n)
{
	const int64_t args[] = { n, 0, 0, 0 };
	int64_t *results = malloc(8 * sizeof(*results));
	int got = syscript_call(fd, 4, args, 8, results);

	if (got != 2 || results[0] != n + 1 || results[1] != n + 2)
		printf("wrong: %d\n", got);
	free(results);
}

static void fail(int fd)
{
	const int64_t negative = -1;
	char *text = malloc(400);

	if (syscript_call(fd, 1, &negative, 0, NULL) >= 0 || syscript_error(fd, text, 400) <= 0 ||
	    text[0] != 's')
		puts("no error");
	free(text);
}

static void *use_one(void *unused)
{
	for (int i = 0; i < 100; i++)
		call(script, i);
	return unused;
}

static void *use_own(void *unused)
{
	for (int i = 0; i < 5; i++) {
		int fd = load();

		call(fd, i);
		/* Only here: another thread's call of a script may end with its text. */
		fail(fd);
		syscript_close(fd);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	char *buf = malloc(100);
	int64_t args[] = { 1, (intptr_t)"/proc/self/comm", (intptr_t)buf, 100 }, got = 0;

	(void)argv;
	script = load();
	if (script < 0)
		return 1;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i < 2 ? use_one : use_own, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	/* Not under MemorySanitizer, which does not see a script's writes. */
	if (argc == 1 && (syscript_call(script, 4, args, 1, &got) != 1 || got < 1 || !buf[0]))
		puts("nothing was read");
	printf("done in %d\n", syscript_backend(script));
	syscript_close(script);
	free(buf);
	return 0;
}
