// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The script's access to the process's memory: wild addresses do no harm. */
#include <fcntl.h>
#include <sys/mman.h>

#include "lib_test.h"

static int peek, poke, copyin, copyout;

static void wild(int64_t address)
{
	const int64_t args[] = { address, 8 };

	CHECK_EQ(syscript_call(peek, 1, args, 0, NULL), -EPROTO);
	CHECK_EQ(syscript_call(poke, 1, args, 0, NULL), -EPROTO);
	CHECK_EQ(syscript_call(copyin, 2, args, 0, NULL), -EPROTO);
	CHECK_EQ(syscript_call(copyout, 2, args, 0, NULL), -EPROTO);
}

static void wild_addresses(void)
{
	static const int64_t addresses[] = {
		0, 1, 8, 4095, 4096, -1, -8, -4096, 1LL << 47, (1LL << 47) - 1, (1LL << 47) - 4096,
		1LL << 48, SYSCRIPT_LUA_INT_MAX, -SYSCRIPT_LUA_INT_MAX, 0x7ffffffff000,
	};

	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		wild(addresses[i]);
}

static void tame(void)
{
	int values[3] = { -1, 2, 3 };

	CHECK_EQ(lua_syscall(peek, 1, &values[0]), -1);
	CHECK_EQ(lua_syscall(poke, 1, &values[1]), 0);
	CHECK_EQ(values[1], 77);
	CHECK_EQ(lua_syscall(copyin, 2, values, 3), -1 + 77 + 3);
	CHECK_EQ(lua_syscall(copyout, 2, values, 3), 0);
	CHECK_EQ(values[0], 1);
	CHECK_EQ(values[2], 3);
}

static void protections(void)
{
	char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	CHECK(!mprotect(p + 4096, 4096, PROT_READ));
	CHECK(!munmap(p + 8192, 4096));
	CHECK_EQ(lua_syscall(peek, 1, p + 4096), 0);
	CHECK_EQ(lua_syscall(poke, 1, p + 4096), -EPROTO);
	CHECK_EQ(lua_syscall(poke, 1, p), 0);
	/* The last two bytes are beyond the end. */
	CHECK_EQ(lua_syscall(peek, 1, p + 8190), -EPROTO);
	CHECK_EQ(lua_syscall(poke, 1, p + 4094), -EPROTO);
	CHECK(!mprotect(p, 4096, PROT_NONE));
	CHECK_EQ(lua_syscall(peek, 1, p), -EPROTO);
	munmap(p, 8192);
}

/* Memory that the script unmaps is inaccessible to it at once. */
static void unmapped_by_script(void)
{
	int fd = load("function run(p)\n"
		      "  local before = util.peek(p)\n"
		      "  assert(syscall.munmap(p, 4096) == 0)\n"
		      "  return before, pcall(util.peek, p) and 1 or 0 end");
	int64_t args[1], results[2];
	int *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*p = 5;
	args[0] = (long)p;
	CHECK_EQ(syscript_call(fd, 1, args, 2, results), 2);
	CHECK_EQ(results[0], 5);
	CHECK_EQ(results[1], 0);
	close(fd);
}

/* A mapping past the end of its file: SIGBUS in C, an error in a script. */
static void past_the_file(void)
{
	int fd = memfd_create("short", 0);
	char *p;

	CHECK(!ftruncate(fd, 4096));
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	CHECK_EQ(lua_syscall(peek, 1, p), 0);
	CHECK_EQ(lua_syscall(peek, 1, p + 4096), -EPROTO);
	CHECK_EQ(lua_syscall(poke, 1, p + 4096), -EPROTO);
	munmap(p, 8192);
	close(fd);
}

/* The same table each time: compiled code reads the values of the last copy. */
static void into_a_table(void)
{
	int fd = load("local t, sum = {}, 0\n"
		      "function run(p, n)\n"
		      "  for i = 1, 500 do\n"
		      "    assert(util.copyin(p, n, 'i4', t) == t)\n"
		      "    sum = sum + t[1] + t[n]\n"
		      "    util.poke(p, 'i4', t[1] + 1)\n"
		      "  end\n"
		      "  return sum, #t end");
	int values[8] = { 1, [2] = 10, [7] = 20 };
	int64_t args[] = { (long)values, 8 }, results[2];

	CHECK_EQ(syscript_call(fd, 2, args, 2, results), 2);
	CHECK_EQ(results[0], 500 * 501 / 2 + 500 * 20);
	CHECK_EQ(results[1], 8);
	/* Copying fewer leaves the other elements unchanged. */
	args[1] = 3;
	CHECK_EQ(syscript_call(fd, 2, args, 2, results), 2);
	CHECK_EQ(results[0], 1000 * 1001 / 2 + 500 * 30);
	CHECK_EQ(results[1], 8);
	args[0] = 8;
	CHECK_EQ(syscript_call(fd, 2, args, 2, results), -EPROTO);
	close(fd);
	fd = load("function run(p) util.copyin(p, 1, 'i4', 5) end");
	CHECK_EQ(lua_syscall(fd, 1, values), -EPROTO);
	close(fd);
}

static void filled(void)
{
	int fd = load("function run(p, n, byte)\n"
		      "  for i = 1, 500 do util.fill(p, i % 256, n) end\n"
		      "  util.fill(p, byte, n) end");
	char bytes[3000] = { [2999] = 7 };

	CHECK_EQ(lua_syscall(fd, 3, bytes, 2999, 255), 0);
	for (int i = 0; i < 2999; i++)
		CHECK_EQ(bytes[i], -1);
	CHECK_EQ(bytes[2999], 7);
	CHECK_EQ(lua_syscall(fd, 3, bytes, 2999, 256), -EPROTO);
	CHECK_EQ(lua_syscall(fd, 3, bytes, 2999, -1), -EPROTO);
	CHECK_EQ(lua_syscall(fd, 3, bytes, -1, 1), -EPROTO);
	CHECK_EQ(lua_syscall(fd, 3, 8, 1, 1), -EPROTO);
	CHECK_EQ(bytes[2999], 7);
	close(fd);
}

/* Bad pointers in system calls are left to the kernel. */
static void system_calls(void)
{
	int fd = load("function run(p) return syscall.pipe2(p, 0) end");

	CHECK_EQ(lua_syscall(fd, 1, 8), -EFAULT);
	close(fd);
}

int main(void)
{
	peek = load("function run(p) return util.peek(p) end");
	poke = load("function run(p) util.poke(p, 'i4', 77) end");
	copyin = load("function run(p, n) local s = 0\n"
		      "  for _, v in ipairs(util.copyin(p, n)) do s = s + v end return s end");
	copyout = load("function run(p, n) util.copyout({ 1, 2, 3, 4, 5, 6, 7, 8 }, p, n) end");
	tame();
	wild_addresses();
	protections();
	unmapped_by_script();
	past_the_file();
	into_a_table();
	filled();
	system_calls();
	return 0;
}
