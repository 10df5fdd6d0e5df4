// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The library keeps Lua's runtime for the confined engine for the process's next script
 * (lib/lua_shared_image.h): what it holds in the kernel, and that scripts work whatever happens to
 * it meanwhile.
 */
#include <dirent.h>
#include <linux/syscript.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "lib_test.h"

#define KIB		1024L
/* Arenas of 1, 2, 2 and 4 MiB would exceed the 8 MiB that may be locked. */
#define SMALL		(64 * KIB)
#define LESS		(600 * KIB)
#define MIDDLE		(1024 * KIB)
#define LARGE		(2048 * KIB)
/* More processes than an account's share allows, if each kept what a script had. */
#define PROCESSES	10
#define THREADS		4
#define ROUNDS		3
#define HANG		60		/* seconds, for what takes one */

#define SUM	"local n = 0 function run(a, b) n = n + 1 return a + b + n end"
/* Fills memory and returns the number of KiB. */
#define FILL	"function run() local t, n = {}, 0 while pcall(function()" \
		" t[n + 1] = util.buffer(1024) end) do n = n + 1 end return n end"

static bool in_kernel;

static int load_on(uint32_t engine, const char *source, long memory)
{
	struct syscript_options options = {
		.memory_limit = memory, .time_limit_ns = 10000000000, .engine = engine,
	};

	return load_with(source, &options);
}

static int load_of(long memory)
{
	return load_on(SYSCRIPT_LUA_ON_CONFINED, SUM, memory);
}

static void check_sum(int fd, long nth)
{
	CHECK_EQ(lua_syscall(fd, 2, 20L, 22L), 42 + nth);
}

static void use(long memory)
{
	int fd = load_of(memory);

	check_sum(fd, 1);
	check_sum(fd, 2);
	CHECK_EQ(syscript_close(fd), 0);
}

/* -- What the process holds in the kernel ------------------------------------------ */

struct held {
	int n, fd;		/* number of scripts, and the last one's descriptor */
	uint64_t id;
};

static struct held held(void)
{
	DIR *all = opendir("/proc/self/fd");
	struct held held = { .fd = -1 };
	const struct dirent *entry;
	char to[64];
	ssize_t len;

	CHECK(all);
	while ((entry = readdir(all))) {
		struct syscript_info info = { 0 };

		len = readlinkat(dirfd(all), entry->d_name, to, sizeof(to) - 1);
		to[len < 0 ? 0 : len] = '\0';
		if (strcmp(to, "anon_inode:[syscript]"))
			continue;
		held.n++;
		held.fd = atoi(entry->d_name);
		if (!ioctl(held.fd, SYSCRIPT_IOC_INFO, &info))
			held.id = info.id;
	}
	closedir(all);
	return held;
}

/* Checks what @n scripts hold, if they are in the kernel. */
static struct held check_held(int n)
{
	struct held now = held();

	CHECK_EQ(now.n, in_kernel ? n : 0);
	return now;
}

/* -- Tests --------------------------------------------------------------------------- */

static void test_is_kept(void)
{
	struct held first;
	int fd;

	use(MIDDLE);
	first = check_held(1);
	use(MIDDLE);
	CHECK_EQ(check_held(1).id, first.id);
	fd = load_of(MIDDLE);
	check_held(2);
	CHECK_EQ(syscript_close(fd), 0);
	CHECK_EQ(check_held(1).id, first.id);
}

/* Another limit of the same size class: the limit applies. */
static void test_other_limits(void)
{
	const long limits[] = { MIDDLE, LESS, MIDDLE };
	struct held first;

	use(MIDDLE);
	first = check_held(1);
	for (int i = 0; i < 3; i++) {
		int fd = load_on(SYSCRIPT_LUA_ON_CONFINED, FILL, limits[i]);
		long n = lua_syscall(fd, 0);

		CHECK(n > limits[i] / KIB / 2 && n < limits[i] / KIB);
		CHECK_EQ(syscript_close(fd), 0);
		CHECK_EQ(check_held(1).id, first.id);
	}
}

/* Only the base of the script closed last is kept. */
static void test_other_sizes(void)
{
	int one, two;

	use(SMALL);
	one = load_of(MIDDLE);
	check_held(2);
	two = load_of(LARGE);
	check_held(4);
	CHECK_EQ(syscript_close(one), 0);
	check_held(3);
	check_sum(two, 1);
	CHECK_EQ(syscript_close(two), 0);
	check_held(1);
}

static void test_both_engines(void)
{
	int confined = load_of(MIDDLE), luajit = load_on(SYSCRIPT_LUA_ON_LUAJIT, SUM, 0);

	check_sum(luajit, 1);
	check_sum(confined, 1);
	CHECK_EQ(syscript_close(confined), 0);
	check_held(2);
	check_sum(luajit, 2);
	use(MIDDLE);
	CHECK_EQ(syscript_close(luajit), 0);
	check_held(1);
	use(MIDDLE);
}

/* As daemons do: they close all descriptors, and then open files. */
static void test_closed_by_the_program(void)
{
	struct held kept;
	int fd;

	use(MIDDLE);
	kept = check_held(1);
	if (!in_kernel)
		return;
	close(kept.fd);
	use(MIDDLE);
	kept = check_held(1);
	fd = open("/dev/null", O_WRONLY);
	CHECK_EQ(dup2(fd, kept.fd), kept.fd);
	use(MIDDLE);
	CHECK_EQ(write(kept.fd, "x", 1), 1);
	close(fd);
	close(kept.fd);
	check_held(1);
}

static void check_child(pid_t pid)
{
	int status = -1;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* A child does not use what its parent keeps or uses. */
static void test_fork(void)
{
	struct held kept;
	pid_t pid;
	int fd;

	use(MIDDLE);
	kept = check_held(1);
	pid = fork();
	if (!pid) {
		check_held(0);
		use(MIDDLE);
		CHECK(!in_kernel || check_held(1).id != kept.id);
		use(MIDDLE);
		exit(0);
	}
	check_child(pid);
	CHECK_EQ(check_held(1).id, kept.id);
	fd = load_of(MIDDLE);
	check_sum(fd, 1);
	pid = fork();
	if (!pid) {
		CHECK_EQ(syscript_close(fd), 0);
		check_held(0);
		use(MIDDLE);
		use(LARGE);
		check_held(1);
		exit(0);
	}
	check_child(pid);
	check_sum(fd, 2);
	CHECK_EQ(syscript_close(fd), 0);
	CHECK_EQ(check_held(1).id, kept.id);
}

static void *use_often(void *memory)
{
	for (int i = 0; i < ROUNDS; i++)
		use(*(long *)memory);
	return NULL;
}

/* A base that another thread was creating is not used in a child. */
static void test_threads(void)
{
	static long memory[] = { SMALL, MIDDLE };
	pthread_t threads[THREADS];
	pid_t pid;

	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, use_often, &memory[i % 2]));
	pid = fork();
	if (!pid) {
		alarm(HANG);
		use(SMALL);
		use(MIDDLE);
		_exit(0);
	}
	check_child(pid);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	check_held(1);
	use(MIDDLE);
}

/* A process that ends releases its share, whatever it keeps. */
static void test_processes(void)
{
	use(MIDDLE);
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		if (!pid) {
			use(MIDDLE);
			check_held(1);
			_exit(0);
		}
		check_child(pid);
	}
	use(MIDDLE);
}

int main(void)
{
	const char *backend = getenv("SYSCRIPT_BACKEND");
	static void (*const tests[])(void) = {
		test_is_kept, test_other_limits, test_other_sizes, test_both_engines,
		test_closed_by_the_program, test_fork, test_threads, test_processes,
	};

	in_kernel = backend && !strcmp(backend, "kernel");
	/*
	 * If the kernel has the shared runtime, a process keeps none:
	 * tests/vm/test_shared_bases.py.
	 */
	if (in_kernel) {
		use(MIDDLE);
		if (!held().n)
			skip("the machine has the runtime");
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		tests[i]();
	return 0;
}
