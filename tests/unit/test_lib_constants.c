// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A script's constants must not be in executable memory: an attacker who can divert the processor
 * there would have chosen the instructions. This test searches the machine code of the user
 * backend, which is generated as in the kernel.
 */
#include <stdbool.h>
#include <stdint.h>

#include "lib_test.h"

/* A byte sequence that occurs nowhere else: nops and a system call, cli and hlt. */
#define INT		"0x3cfaf490"
#define INT_BYTES	0x3cfaf490u
#define FLOAT		"0x1.4f49090fafb3cp-200"

static const char *const loops[] = {
	"x = bit.bxor(x, " INT ")",
	"x = bit.band(x + i, " INT ") + bit.bor(i, " INT ")",
	"x = bit.tobit(x + " INT ")",
	"x = bit.bor(i, 1) * " INT " % 7",
	"if i == " INT " or i > " INT " then x = 1 end x = x + 1",
	"x = x + i + " INT,
	"x = bit.bnot(bit.bxor(bit.bswap(i), " INT "))",
	"s = bit.bxor(i, s) if bit.band(s, " INT ") == 0 then x = x + 1 end",
	"x = x + " FLOAT,
	"if x < " FLOAT " then x = x + 1 end",
	"t[" FLOAT "] = i x = t[" FLOAT "]",
	"t[" INT "] = i x = t[" INT "]",
	"t[1] = " FLOAT " t.x = " INT,
	"x = x + (b:byte(i + " INT ") or 1)",
	"x = syscall.lseek(-1, " INT ", 0)",
	"x = syscall.lseek(-1, -" INT ", 0)",
	"x = syscall.lseek(-1, 0x1c3cfaf490, 0)",
	"x = syscall.lseek(-1, -0x1c3cfaf490, 0)",
	"util.poke(a, \"u4\", " INT ") x = util.peek(a, \"u4\")",
	"x = math.min(i, " INT ") + math.max(x, " INT ")",
	"for j = " INT ", " INT " + 3 do x = x + j end",
	"for j = -" INT ", -" INT " + 3 do x = x - j end",
	"x = select(2, i, " INT ")",
	"x = (\"\"):rep(" INT ") == b and 1 or 2",
};

static bool has(const unsigned char *p, size_t n, uint64_t bytes, size_t size)
{
	for (; n >= size; p++, n--)
		if (!memcmp(p, &bytes, size))
			return true;
	return false;
}

/* Searches executable memory that is not a file's: the code of traces. */
static bool is_executable(uint64_t bytes, size_t size, size_t *total)
{
	char line[512], perms[8];
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, inode;
	bool found = false;

	while (fgets(line, sizeof(line), maps)) {
		CHECK(sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, perms,
			     &inode) == 4);
		if (perms[2] != 'x' || inode || strchr(line, '['))
			continue;
		*total += end - start;
		found |= has((void *)start, end - start, bytes, size);
	}
	fclose(maps);
	return found;
}

static void check(const char *loop)
{
	static const uint64_t ints[] = { INT_BYTES, -INT_BYTES, ~INT_BYTES };
	struct syscript_options options = { .backend = SYSCRIPT_BACKEND_USER };
	double number = 0x1.4f49090fafb3cp-200;
	struct syscript_info info;
	size_t total = 0, i;
	char source[1024];
	uint64_t bits;
	int fd;

	options.time_limit_ns = 10000000000;
	snprintf(source, sizeof(source),
		 "local t, a, b = { 1, 2, 3 }, util.buffer(64), (\"b\"):rep(1000)\n"
		 "function run() local x, s = 0, 1 for i = 1, 2000 do %s end return 0 end",
		 loop);
	fd = load_with(source, &options);
	if (lua_syscall(fd, 0)) {
		syscript_error(fd, source, sizeof(source));
		fprintf(stderr, "%s\nof: %s\n", source, loop);
		exit(1);
	}
	CHECK_EQ(syscript_info(fd, &info), 0);
	if (!info.counters[0].value)
		printf("not compiled: %s\n", loop);
	CHECK(info.counters[0].value > 0);
	for (i = 0; i < sizeof(ints) / sizeof(ints[0]); i++) {
		if (is_executable(ints[i], 4, &total)) {
			fprintf(stderr, "executable: %s\n", loop);
			exit(1);
		}
	}
	memcpy(&bits, &number, sizeof(bits));
	CHECK(!is_executable(bits, 8, &total));
	CHECK(!is_executable(bits & 0xffffffff, 4, &total));
	CHECK(!is_executable(bits >> 32, 4, &total));
	CHECK(total > 0);
	syscript_close(fd);
}

int main(void)
{
	size_t i;

	for (i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		check(loops[i]);
	return 0;
}
