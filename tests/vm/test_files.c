// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Files that a run releases are freed when the system call returns, as for a process: they do not
 * accumulate until the run ends, and the next call sees the effects. Also: what a script's end
 * unmaps.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "abi.h"

/*
 * More files than other processes may open and close meanwhile, and enough rounds to exceed that.
 */
#define FILES_SLACK	2000
#define CHURN_ROUNDS	5000

#define PRELUDE \
	"local buf = util.buffer(4096)\n" \
	"local null, none = '/dev/null', '/nonexistent/x'\n" \
	"local function open(path)\n" \
	"	return syscall.open(path, const.O_RDWR + const.O_CLOEXEC)\n" \
	"end\n" \
	"local function ok(ret) assert(ret >= 0, ret) return ret end\n" \
	"local function files()\n" \
	"	local fd = ok(syscall.open('/proc/sys/fs/file-nr', 0))\n" \
	"	local n = ok(syscall.read(fd, buf, 100))\n" \
	"	ok(syscall.close(fd))\n" \
	"	return tonumber(util.str_in(buf, n):match('%d+'))\n" \
	"end\n"

/* run(n, fd): repeats @body n times; returns the most by which the system's file table grew. */
#define CHURN(body) \
	PRELUDE \
	"function run(n, fd)\n" \
	"	local before, most = files(), 0\n" \
	"	for i = 1, n do\n" \
	"		" body "\n" \
	"		if i % 1000 == 0 then most = math.max(most, files() - before) end\n" \
	"	end\n" \
	"	return most\n" \
	"end\n"

static void print_error(int fd)
{
	char text[256];

	if (abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text)) > 0)
		printf("%s\n", text);
}

/* A kernel with debugging features is slow. */
static int register_patiently(const char *source)
{
	struct syscript_register reg = abi_source(source);
	int fd;

	reg.wall_limit = SYSCRIPT_NO_LIMIT;
	fd = abi_register_struct(&reg);
	CHECK(fd >= 0);
	return fd;
}

static void check_churn(const char *what, const char *source)
{
	int own = open("/dev/null", O_RDWR | O_CLOEXEC);
	int64_t most = -1;
	int fd = register_patiently(source);
	int err = abi_call(fd, CHURN_ROUNDS, own, &most);

	CHECK_EQ(err, 0);
	if (err)
		print_error(fd);
	if (most < 0 || most > FILES_SLACK) {
		printf("%s: %lld files more in the system's table\n", what,
		       (long long)most);
		abi_failures++;
	}
	close(fd);
	close(own);
}

static void test_table_stays_small(void)
{
	check_churn("open, close", CHURN("ok(syscall.close(ok(open(null))))"));
	check_churn("open that fails", CHURN("assert(open(none) == -errno.ENOENT)"));
	check_churn("dup2", CHURN(
		"local new = ok(open(null))"
		"ok(syscall.dup2(new, fd)) ok(syscall.close(new))"));
	check_churn("close_range", CHURN(
		"local new = ok(open(null)) ok(syscall.close_range(new, new, 0))"));
	check_churn("munmap", CHURN(
		"local new = ok(syscall.memfd_create('x', 1))"
		"ok(syscall.ftruncate(new, 4096))"
		"local p = ok(syscall.mmap(0, 4096, 1, const.MAP_SHARED, new, 0))"
		"ok(syscall.close(new)) ok(syscall.munmap(p, 4096))"));
	check_churn("socketpair", CHURN(
		"ok(syscall.socketpair(1, const.SOCK_DGRAM, 0, buf))"
		"local a, b = util.peek(buf), util.peek(buf + 4)"
		"ok(syscall.close(a)) ok(syscall.close(b))"));
}

/* More files than are released in one batch, so that leaked ones would exceed the slack. */
#define MANY		3900
#define CLOSE_MANY \
	PRELUDE \
	"function run(n)\n" \
	"	local before, first = files(), ok(open(null))\n" \
	"	for i = 2, n do ok(open(null)) end\n" \
	"	ok(syscall.close_range(first, first + n - 1, 0))\n" \
	"	return files() - before\n" \
	"end\n"

static void test_many_at_once(void)
{
	struct rlimit old, limit;
	int64_t left = -1;
	int fd = register_patiently(CLOSE_MANY);

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
	limit = old;
	limit.rlim_cur = MANY + 100;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(abi_call(fd, MANY, 0, &left), 0);
	CHECK_EQ(left < FILES_SLACK, 1);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
	close(fd);
}

/* A pipe reaches its end as soon as its last writer is replaced. */
#define PIPE \
	PRELUDE \
	"function run(r, w)\n" \
	"	local new = ok(open(null))\n" \
	"	ok(syscall.dup2(new, w))\n" \
	"	ok(syscall.close(new))\n" \
	"	return syscall.read(r, buf, 1)\n" \
	"end\n"

static void test_pipe_ends(void)
{
	int fd = abi_must_register(PIPE), fds[2];
	int64_t got = -1;

	CHECK_EQ(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	CHECK_EQ(abi_call(fd, fds[0], fds[1], &got), 0);
	CHECK_EQ(got, 0);
	close(fds[0]);
	close(fds[1]);
	close(fd);
}

/* An address is free as soon as the socket bound to it is closed. */
#define REBIND \
	PRELUDE \
	"function run(addr, len)\n" \
	"	for i = 1, 100 do\n" \
	"		local s = ok(syscall.socket(const.AF_UNIX, const.SOCK_DGRAM, 0))\n" \
	"		local ret = syscall.bind(s, addr, len)\n" \
	"		if ret < 0 then return ret end\n" \
	"		ok(syscall.close(s))\n" \
	"	end\n" \
	"	return 0\n" \
	"end\n"

static void test_name_is_free(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = abi_must_register(REBIND);
	int64_t got = -1;

	snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
		 "syscript-test-%d", getpid());
	CHECK_EQ(abi_call(fd, (uintptr_t)&addr, sizeof(addr), &got), 0);
	CHECK_EQ(got, 0);
	close(fd);
}

/* Closes the script's own file, and the device's, during the run. */
#define REPLACE \
	PRELUDE \
	"function run(own, with)\n" \
	"	ok(syscall.dup2(with, own))\n" \
	"	for i = 1, 100 do ok(syscall.close(ok(open(null)))) end\n" \
	"	return 7\n" \
	"end\n"

static void test_own_file(void)
{
	int fd = abi_must_register(REPLACE);
	struct syscript_info info;
	int64_t got = -1;

	CHECK_EQ(abi_call(fd, fd, STDIN_FILENO, &got), 0);
	CHECK_EQ(got, 7);
	CHECK_EQ(abi_info(fd, &info), -ENOTTY);
	CHECK_EQ(abi_count(getpid()), 0);
	close(fd);
}

static void test_device_at_toplevel(void)
{
	char source[256];
	int64_t got = -1;
	int fd;

	snprintf(source, sizeof(source),
		 "assert(syscall.close(%d) == 0) function run() return 3 end",
		 abi_device);
	fd = abi_must_register(source);
	CHECK_EQ(abi_call(fd, 0, 0, &got), 0);
	CHECK_EQ(got, 3);
	/* Now the script is the module's last user. */
	close(fd);
	abi_open();
}

static int is_mapped(const void *p)
{
	unsigned char resident;

	return mincore((void *)p, 1, &resident) == 0;
}

#define BUFFER	"function run() return util.buffer(4096) end"

static void test_scratch_goes(void)
{
	int fd = abi_must_register(BUFFER);
	int64_t addr = 0;

	CHECK_EQ(abi_call(fd, 0, 0, &addr), 0);
	CHECK(is_mapped((void *)addr));
	memset((void *)addr, 1, 4096);
	close(fd);
	CHECK(!is_mapped((void *)addr));
}

/* The process has unmapped the scratch memory and put its own mapping there. */
static void test_scratch_replaced(void)
{
	int fd = abi_must_register(BUFFER);
	size_t size = 1 << 20;
	int64_t addr = 0;
	char *own;

	CHECK_EQ(abi_call(fd, 0, 0, &addr), 0);
	own = mmap((void *)addr, size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(own == (void *)addr);
	memset(own, 42, size);
	close(fd);
	CHECK(is_mapped(own) && is_mapped(own + size - 4096));
	if (!abi_failures)
		CHECK_EQ(own[size - 1], 42);
	munmap(own, size);
}

static int module_references(void)
{
	FILE *f = fopen("/sys/module/syscript/refcnt", "r");
	int n = -1;

	if (f) {
		CHECK_EQ(fscanf(f, "%d", &n), 1);
		fclose(f);
	}
	return n;
}

/* Scratch memory taken over by the process does not hold the module. */
static void test_scratch_holds_no_module(void)
{
	int before = module_references(), fd = abi_must_register(BUFFER);
	int64_t addr = 0;

	CHECK(before > 0);
	CHECK_EQ(abi_call(fd, 0, 0, &addr), 0);
	CHECK_EQ(mprotect((void *)addr, 4096, PROT_READ), 0);
	close(fd);
	CHECK(is_mapped((void *)addr));
	CHECK_EQ(module_references(), before);
	munmap((void *)addr, 1 << 20);
}

/* A child closes the last descriptor: its copy of the scratch stays, the owner's is unmapped. */
static void test_scratch_closed_by_child(void)
{
	int fd = abi_must_register(BUFFER), ready[2], patience = 500;
	int64_t addr = 0;
	pid_t pid;
	char c;

	CHECK_EQ(abi_call(fd, 0, 0, &addr), 0);
	memset((void *)addr, 1, 4096);
	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		close(ready[1]);
		CHECK_EQ(read(ready[0], &c, 1), 0);
		CHECK_EQ(close(fd), 0);
		CHECK(is_mapped((void *)addr));
		CHECK_EQ(*(char *)addr, 1);
		exit(!!abi_failures);
	}
	close(fd);
	CHECK(is_mapped((void *)addr));
	close(ready[0]);
	close(ready[1]);
	CHECK_EQ(waitpid(pid, &patience, 0), pid);
	CHECK_EQ(patience, 0);
	for (patience = 500; patience && is_mapped((void *)addr); patience--)
		abi_sleep(0.01);
	CHECK(!is_mapped((void *)addr));
}

int main(void)
{
	abi_open();
	test_table_stays_small();
	test_many_at_once();
	test_pipe_ends();
	test_name_is_free();
	test_own_file();
	test_device_at_toplevel();
	test_scratch_goes();
	test_scratch_replaced();
	test_scratch_holds_no_module();
	test_scratch_closed_by_child();
	return abi_verdict();
}
