// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The requests of uapi/syscript.h, field by field. */
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "abi.h"

static void test_requests(void)
{
	int fd = abi_must_register(ABI_ADD);
	char big[1024] = "";

	CHECK_EQ(abi_ioctl(abi_device, SYSCRIPT_IOC_CALL, big), -ENOTTY);
	CHECK_EQ(abi_ioctl(abi_device, SYSCRIPT_IOC_INFO, big), -ENOTTY);
	CHECK_EQ(abi_ioctl(abi_device, _IOWR(SYSCRIPT_IOC_MAGIC, 0x4f, int), big),
		 -ENOTTY);
	CHECK_EQ(abi_ioctl(fd, SYSCRIPT_IOC_REGISTER, big), -ENOTTY);
	CHECK_EQ(abi_ioctl(fd, SYSCRIPT_IOC_NEXT, big), -ENOTTY);
	/* The same number with another direction is another request. */
	CHECK_EQ(abi_ioctl(fd, _IOW(SYSCRIPT_IOC_MAGIC, 0x42, struct syscript_call),
			   big), -ENOTTY);
	CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	CHECK_EQ(close(fd), 0);
}

#define REGISTER_SIZE_1	136	/* up to @reserved */
#define CALL_SIZE_1	144	/* up to @fd */

/* Structures of other sizes; the first version had @first bytes. */
static void check_sizes(int fd, unsigned long request, void *known_struct,
			size_t known, size_t first)
{
	unsigned char s[1024] = "";
	int ret;

	memcpy(s, known_struct, known);
	CHECK_EQ(abi_ioctl(fd, abi_sized(request, 0), s), -EINVAL);
	CHECK_EQ(abi_ioctl(fd, abi_sized(request, first - 1), s), -EINVAL);
	ret = abi_ioctl(fd, abi_sized(request, first), s);
	CHECK(ret >= 0);
	if (ret > 0)
		close(ret);
	memcpy(s, known_struct, known);
	ret = abi_ioctl(fd, abi_sized(request, known + 8), s);
	CHECK(ret >= 0);
	if (ret > 0)
		close(ret);
	memcpy(s, known_struct, known);
	ret = abi_ioctl(fd, abi_sized(request, sizeof(s)), s);
	CHECK(ret >= 0);
	if (ret > 0)
		close(ret);

	memcpy(s, known_struct, known);
	s[known] = 1;
	CHECK_EQ(abi_ioctl(fd, abi_sized(request, known + 1), s), -E2BIG);
	s[known] = 0;
	s[sizeof(s) - 1] = 1;
	CHECK_EQ(abi_ioctl(fd, abi_sized(request, sizeof(s)), s), -E2BIG);
	CHECK_EQ(abi_ioctl(fd, request, (void *)8), -EFAULT);
	CHECK_EQ(abi_ioctl(fd, request, (void *)-4096L), -EFAULT);
}

static void test_sizes(void)
{
	struct syscript_register reg = abi_source(ABI_ADD);
	struct syscript_call call = { .nargs = 2, .args = { 40, 2 } };
	struct syscript_text text = { .which = SYSCRIPT_TEXT_ERROR };
	struct syscript_info info = { .id = 0 };
	int fd = abi_must_register(ABI_ADD);

	check_sizes(abi_device, SYSCRIPT_IOC_REGISTER, &reg, sizeof(reg), REGISTER_SIZE_1);
	check_sizes(abi_device, SYSCRIPT_IOC_NEXT, &info, sizeof(info), sizeof(info));
	check_sizes(fd, SYSCRIPT_IOC_CALL, &call, sizeof(call), CALL_SIZE_1);
	check_sizes(fd, SYSCRIPT_IOC_TEXT, &text, sizeof(text), sizeof(text));
	check_sizes(fd, SYSCRIPT_IOC_INFO, &info, sizeof(info), sizeof(info));
	close(fd);
}

/* A longer call structure gives the same results as the present one. */
static void test_long_call(void)
{
	struct {
		struct syscript_call call;
		uint64_t more[4];
	} big = { .call = { .nargs = 2, .args = { 40, 2 } } };
	int fd = abi_must_register(ABI_ADD);

	CHECK_EQ(abi_ioctl(fd, abi_sized(SYSCRIPT_IOC_CALL, sizeof(big)), &big), 0);
	CHECK_EQ(big.call.nresults, 1);
	CHECK_EQ(big.call.results[0], 42);
	close(fd);
}

static int register_name(const char *name)
{
	struct syscript_register reg = abi_source(ABI_ADD);
	int fd;

	memset(reg.name, 0, sizeof(reg.name));
	memcpy(reg.name, name, strlen(name));
	fd = abi_register_struct(&reg);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void test_names(void)
{
	CHECK_EQ(register_name(""), 0);
	CHECK_EQ(register_name("Figure 1: recv_batch.lua"), 0);
	CHECK_EQ(register_name("0123456789012345678901234567890"), 0);
	CHECK_EQ(register_name("01234567890123456789012345678901"), -EINVAL);
	CHECK_EQ(register_name("a\nb"), -EINVAL);
	CHECK_EQ(register_name("\033[2J"), -EINVAL);
	CHECK_EQ(register_name("\x7f"), -EINVAL);
	CHECK_EQ(register_name("\x80"), -EINVAL);
}

static void test_register_fields(void)
{
	struct syscript_register reg, good = abi_source(ABI_ADD);
	long long memory_max = abi_parameter("max_memory_limit");
	long long time_max = abi_parameter("max_time_limit");

	reg = good;
	reg.flags = ~SYSCRIPT_FLAGS;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg = good;
	reg.reserved = 1;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg = good;
	reg.base = 1;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg.flags = SYSCRIPT_BASE | SYSCRIPT_EXTENDS;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg = good;
	reg.calls[0] = 1;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg = good;
	reg.libraries = SYSCRIPT_LIBRARY_FS;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg.flags |= SYSCRIPT_ONLY;
	reg.libraries = SYSCRIPT_LIBRARIES + 1;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg.libraries = 0;
	reg.reserved2 = 1;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg = good;
	reg.image_len = 0;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg = good;
	reg.image_len = SYSCRIPT_IMAGE_MAX + 1;
	CHECK_EQ(abi_register_struct(&reg), -E2BIG);
	reg = good;
	reg.image_len = -1ULL;
	CHECK_EQ(abi_register_struct(&reg), -E2BIG);
	reg = good;
	reg.image = 8;
	CHECK_EQ(abi_register_struct(&reg), -EFAULT);
	reg = good;
	reg.image = -4096ULL;
	CHECK_EQ(abi_register_struct(&reg), -EFAULT);
	reg = good;
	reg.error_len = 100;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	reg = good;
	reg.memory_limit = SYSCRIPT_MEMORY_MIN - 1;
	CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	if (memory_max > 0) {
		reg = good;
		reg.memory_limit = memory_max + 1;
		CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	}
	if (time_max > 0) {
		reg = good;
		reg.time_limit = time_max + 1;
		CHECK_EQ(abi_register_struct(&reg), -EINVAL);
	}
}

static int register_error(const char *source, char *error, uint32_t len)
{
	struct syscript_register reg = abi_source(source);

	reg.error = (uintptr_t)error;
	reg.error_len = len;
	return abi_register_struct(&reg);
}

static void test_register_errors(void)
{
	char whole[512], cut[8];
	int fd;

	CHECK_EQ(register_error("syntax error (", whole, sizeof(whole)), -ENOEXEC);
	CHECK(strstr(whole, "test:1:"));
	CHECK_EQ(register_error("error('boom')", whole, sizeof(whole)), -ENOEXEC);
	CHECK(strstr(whole, "boom"));
	CHECK_EQ(register_error("x = 1", whole, sizeof(whole)), -ENOEXEC);
	CHECK(strstr(whole, "run"));
	CHECK_EQ(abi_register("run = 1"), -ENOEXEC);
	CHECK_EQ(abi_register("\033LJ\002"), -ENOEXEC);

	memset(cut, 'x', sizeof(cut));
	CHECK_EQ(register_error("syntax error (", cut, sizeof(cut) - 1), -ENOEXEC);
	CHECK_EQ(cut[6], '\0');
	CHECK_EQ(cut[7], 'x');
	CHECK_EQ(strncmp(cut, "test:1", 6), 0);
	CHECK_EQ(register_error("syntax error (", (char *)8, 100), -EFAULT);

	/* An error buffer is not touched if there is no error. */
	fd = register_error(ABI_ADD, (char *)8, 100);
	CHECK(fd >= 0);
	close(fd);
}

static void test_check(void)
{
	int before = abi_count(getpid());

	CHECK_EQ(abi_register_limits(ABI_ADD, SYSCRIPT_CHECK, 0, ABI_PATIENCE), 0);
	CHECK_EQ(abi_register_limits("error('not run')", SYSCRIPT_CHECK, 0, ABI_PATIENCE), 0);
	CHECK_EQ(abi_register_limits("syntax error (", SYSCRIPT_CHECK, 0, ABI_PATIENCE),
		 -ENOEXEC);
	CHECK_EQ(abi_count(getpid()), before);
}

/* The expected file of a descriptor is checked before anything runs. */
static void test_call_expects(abi_way *way)
{
	const struct syscript_call good = {
		.flags = SYSCRIPT_CALL_EXPECT, .nargs = 2, .args = { 40, 2 },
	};
	int fd = abi_must_register(ABI_ADD), ends[2], path;
	struct syscript_call call = good;
	struct syscript_info info;
	struct stat st;

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(fstat(ends[1], &st), 0);
	call.fd = ends[1];
	call.dev = st.st_dev;
	call.ino = st.st_ino;
	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(call.results[0], 42);
	call.flags |= SYSCRIPT_CALL_QUIET;
	call.args[1] = 3;
	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(call.results[0], 42);
	call.fd = fd;
	CHECK_EQ(way(fd, &call), -ESTALE);
	call.fd = -2;
	CHECK_EQ(way(fd, &call), -ESTALE);
	call.fd = ends[1];
	call.dev++;
	CHECK_EQ(way(fd, &call), -ESTALE);
	call.dev--;
	call.ino++;
	CHECK_EQ(way(fd, &call), -ESTALE);
	call.ino--;
	path = open("/", O_PATH);
	CHECK_EQ(fstat(path, &st), 0);
	call.fd = path;
	call.dev = st.st_dev;
	call.ino = st.st_ino;
	CHECK_EQ(way(fd, &call), -ESTALE);
	CHECK_EQ(call.state, 0);
	close(path);
	call.fd = 1 << 30;
	CHECK_EQ(way(fd, &call), -ESTALE);
	CHECK_EQ(abi_info(fd, &info), 0);
	CHECK_EQ(info.calls, 2);
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

/* A call may name the script it expects: another script may reuse the number. */
static void test_call_expects_script(abi_way *way)
{
	struct syscript_call call = {
		.flags = SYSCRIPT_CALL_EXPECT, .nargs = 2, .args = { 40, 2 },
		.fd = SYSCRIPT_EXPECT_SCRIPT,
	};
	int fd = abi_must_register(ABI_ADD), other = abi_must_register(ABI_ADD);
	struct syscript_info info;

	CHECK_EQ(abi_info(fd, &info), 0);
	call.ino = info.id;
	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(call.results[0], 42);
	call.nresults = 0;
	CHECK_EQ(way(other, &call), -ESTALE);
	call.ino++;
	CHECK_EQ(way(fd, &call), -ESTALE);
	call.ino = 0;
	CHECK_EQ(way(fd, &call), -ESTALE);
	CHECK_EQ(abi_info(other, &info), 0);
	CHECK_EQ(info.calls, 0);
	CHECK_EQ(call.state, 0);
	close(other);
	close(fd);
}

static void test_call_fields(abi_way *way)
{
	struct syscript_call call, good = { .nargs = 2, .args = { 40, 2 } };
	int fd = abi_must_register(ABI_ADD);

	call = good;
	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(call.nresults, 1);
	CHECK_EQ(call.results[0], 42);
	call = good;
	call.flags = SYSCRIPT_CALL_FLAGS + 1;
	CHECK_EQ(way(fd, &call), -EINVAL);
	call = good;
	call.state = SYSCRIPT_CALL_ENDED;
	CHECK_EQ(way(fd, &call), -EINVAL);
	call = good;
	call.nargs = SYSCRIPT_ARGS_MAX + 1;
	CHECK_EQ(way(fd, &call), -EINVAL);
	call = good;
	call.nargs = -1U;
	CHECK_EQ(way(fd, &call), -EINVAL);
	call = good;
	/* What a number cannot hold is an integer of 64 bits. */
	call.args[1] = SYSCRIPT_LUA_INT_MAX + 1;
	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(call.results[0], SYSCRIPT_LUA_INT_MAX + 41);
	/* Arguments beyond nargs may be anything. */
	call = good;
	call.args[2] = INT64_MIN;
	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(way(fd, &call), -EBADF);
}

static void test_call_results(abi_way *way)
{
	struct syscript_call call = {
		.nargs = 8,
		.args = { SYSCRIPT_LUA_INT_MAX, -SYSCRIPT_LUA_INT_MAX, 3, 4, INT64_MIN,
			  INT64_MAX, SYSCRIPT_LUA_INT_MAX + 1, -8 },
	};
	int i, fd = abi_must_register("function run(...) return ... end");

	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(call.nresults, 8);
	for (i = 0; i < 8; i++)
		CHECK_EQ(call.results[i], call.args[i]);

	/* Results that run() did not return are left unchanged. */
	call.nargs = 1;
	memset(call.results, 0x55, sizeof(call.results));
	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(call.nresults, 1);
	CHECK_EQ(call.results[0], SYSCRIPT_LUA_INT_MAX);
	for (i = 1; i < 8; i++)
		CHECK_EQ(call.results[i], 0x5555555555555555LL);
	close(fd);

	fd = abi_must_register("function run() return 1,2,3,4,5,6,7,8,9,10 end");
	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(call.nresults, 10);
	CHECK_EQ(call.results[7], 8);
	close(fd);

	fd = abi_must_register("function run() return 0.5 end");
	CHECK_EQ(way(fd, &call), -ERANGE);
	close(fd);
}

/* A structure whose second half is unmapped, or read-only. */
static void test_call_memory(abi_way *way)
{
	long page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct syscript_call *call = (void *)(map + page - 80);
	int fd = abi_must_register(ABI_ADD);

	CHECK(map != MAP_FAILED);
	munmap(map + page, page);
	*(uint32_t *)((char *)call + 4) = 2;
	/* The results do not fit on the page. */
	CHECK_EQ(way(fd, call), -EFAULT);
	/* Nor do the arguments. */
	call = (void *)(map + page - 24);
	memset(call, 0, 24);
	call->nargs = 2;
	CHECK_EQ(way(fd, call), -EFAULT);
	call = (void *)map;
	call->nargs = 2;
	mprotect(map, page, PROT_READ);
	CHECK_EQ(way(fd, call), -EFAULT);
	munmap(map, page);
	CHECK_EQ(abi_call(fd, 1, 2, NULL), 0);
	close(fd);
}

/* A script's own error is marked as such if that was requested. */
static void test_call_tells(abi_way *way)
{
	struct syscript_call call, good = { .nargs = 2, .args = { 40, 2 } };
	int fd = abi_must_register("function run(a, b) if a == b then error('same') end "
				   "return a + b end");

	good.flags = SYSCRIPT_CALL_TELL;
	call = good;
	CHECK_EQ(way(fd, &call), 0);
	CHECK_EQ(call.results[0], 42);
	CHECK_EQ(call.state, 0);
	good.args[1] = 40;
	call = good;
	CHECK_EQ(way(fd, &call), -EPROTO);
	CHECK_EQ(call.state, SYSCRIPT_CALL_ENDED);
	good.flags = 0;
	call = good;
	CHECK_EQ(way(fd, &call), -EPROTO);
	CHECK_EQ(call.state, 0);
	/* No script ran; asking again gives the same result. */
	good.flags = SYSCRIPT_CALL_TELL;
	good.nargs = SYSCRIPT_ARGS_MAX + 1;
	call = good;
	CHECK_EQ(way(fd, &call), -EINVAL);
	CHECK_EQ(call.state, 0);
	close(fd);
}

/* lseek(2) calls a script with one whence only, and only with negative offsets. */
static void test_other_seeks(void)
{
	struct syscript_call call = { .nargs = 2, .args = { 40, 2 } };
	off_t address = (off_t)&call;
	int fd = abi_must_register(ABI_ADD);

	for (int whence = SEEK_SET; whence <= SEEK_HOLE; whence++) {
		CHECK_EQ(lseek(fd, address, whence), 0);
		CHECK_EQ(lseek(fd, 0, whence), 0);
		if (whence != SYSCRIPT_SEEK_CALL)
			CHECK_EQ(lseek(fd, -address, whence), 0);
	}
	CHECK_EQ(call.nresults, 0);
	/* Not an address of the process. */
	CHECK_EQ(lseek(fd, INT64_MIN, SYSCRIPT_SEEK_CALL), -1);
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(lseek(fd, -1, SYSCRIPT_SEEK_CALL), -1);
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(lseek(abi_device, -address, SYSCRIPT_SEEK_CALL), 0);
	close(fd);
}

static void test_text(void)
{
	int fd = abi_must_register("function run() error('boom') end");
	struct syscript_text bad = { .which = 2 };
	char text[512], cut[5];

	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text)), 0);
	CHECK_EQ(abi_call(fd, 0, 0, NULL), -EPROTO);
	CHECK(abi_text(fd, SYSCRIPT_TEXT_ERROR, text, sizeof(text)) > 0);
	CHECK(strstr(text, "test:1:") && strstr(text, "boom"));
	/* A short buffer gets the beginning and a NUL; returns the full length; keeps the text. */
	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_ERROR, cut, sizeof(cut)),
		 (long long)strlen(text));
	CHECK_EQ(strcmp(cut, "tes"), 0);
	CHECK_EQ(abi_ioctl(fd, SYSCRIPT_IOC_TEXT, &bad), -EINVAL);
	/* An error does not end the script. */
	CHECK_EQ(abi_call(fd, 0, 0, NULL), -EPROTO);
	close(fd);
}

static void test_output(void)
{
	int fd = abi_must_register("function run() print(\"to the caller\") end");
	char text[64];

	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_OUTPUT, text, sizeof(text)), 0);
	CHECK_EQ(abi_call(fd, 0, 0, NULL), 0);
	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_OUTPUT, text, 1), 14);
	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_OUTPUT, text, 4), 14);
	CHECK_EQ(strcmp(text, "to "), 0);
	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_OUTPUT, text, sizeof(text)), 11);
	CHECK_EQ(strcmp(text, "the caller\n"), 0);
	CHECK_EQ(abi_text(fd, SYSCRIPT_TEXT_OUTPUT, text, sizeof(text)), 0);
	close(fd);
}

static void test_info(void)
{
	struct syscript_info info = { .reserved = { 0, 0, 0, 1 } }, other;
	int before = abi_count(getpid());
	int fd = abi_register_limits(ABI_ADD, 0, 0, 0);
	int fd2 = abi_must_register(ABI_ADD);

	CHECK_EQ(abi_ioctl(fd, SYSCRIPT_IOC_INFO, &info), -EINVAL);
	CHECK_EQ(abi_ioctl(abi_device, SYSCRIPT_IOC_NEXT, &info), -EINVAL);
	CHECK_EQ(abi_call(fd, 1, 2, NULL), 0);
	CHECK_EQ(abi_call(fd, 1, 2, NULL), 0);
	CHECK_EQ(abi_info(fd, &info), 0);
	CHECK_EQ(info.pid, getpid());
	CHECK_EQ(info.uid, getuid());
	CHECK_EQ(info.flags, 0);
	CHECK_EQ(info.state, SYSCRIPT_STATE_READY);
	CHECK_EQ(strcmp(info.name, "test"), 0);
	CHECK_EQ(info.memory_limit, SYSCRIPT_MEMORY_DEFAULT);
	CHECK_EQ(info.time_limit, SYSCRIPT_TIME_DEFAULT);
	CHECK_EQ(info.calls, 2);
	CHECK_EQ(info.errors, 0);
	CHECK_EQ(info.kills, 0);
	CHECK(info.memory > 0 && info.memory <= info.memory_peak);
	CHECK(info.memory_peak <= info.memory_limit);

	CHECK_EQ(abi_info(fd2, &other), 0);
	CHECK(other.id > info.id);
	CHECK_EQ(abi_next(info.id, &other), 0);
	CHECK_EQ(abi_count(getpid()), before + 2);
	CHECK_EQ(abi_next(UINT64_MAX, &other), -ENOENT);
	close(fd);
	CHECK_EQ(abi_count(getpid()), before + 1);
	close(fd2);
	CHECK_EQ(abi_count(getpid()), before);
}

static void test_state(void)
{
	int fd = abi_must_register("n = 0 function run() n = n + 1 return n end");
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t n = 0;
	int i;

	for (i = 1; i <= 1000; i++) {
		CHECK_EQ(abi_call(fd, 0, 0, &n), 0);
		CHECK_EQ(n, i);
	}
	CHECK_EQ(poll(&p, 1, 0), 0);
	close(fd);
}

int main(void)
{
	abi_open();
	test_requests();
	test_sizes();
	test_long_call();
	test_names();
	test_register_fields();
	test_register_errors();
	test_check();
	test_call_fields(abi_call_ioctl);
	test_call_fields(abi_call_seek);
	test_call_expects(abi_call_ioctl);
	test_call_expects(abi_call_seek);
	test_call_expects_script(abi_call_ioctl);
	test_call_expects_script(abi_call_seek);
	test_call_tells(abi_call_ioctl);
	test_call_tells(abi_call_seek);
	test_call_results(abi_call_ioctl);
	test_call_results(abi_call_seek);
	test_call_memory(abi_call_ioctl);
	test_call_memory(abi_call_seek);
	test_other_seeks();
	test_text();
	test_output();
	test_info();
	test_state();
	return abi_verdict();
}
