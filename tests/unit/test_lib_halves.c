// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The first arena is mapped where the lower halves of its addresses look like small numbers: in
 * other scripts' arenas, which begin as copies of it, these words must stay numbers.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lib_test.h"

#define PLACE		0x600000000000UL
#define GUARD		(9UL << 12)
#define LIKE_AN_ARENA	(2 * GUARD)	/* an arena's length modulo 1 MiB */

static const char source[] =
	"function run()\n"
	"  assert(syscall.getpid() > 1 and const.O_CREAT == 64 and math.max(1, 2) == 2)\n"
	"  return 1\n"
	"end\n";

static int placed;

/* Replaces the library's mmap(), too: puts the first mapping of an arena's length at PLACE. */
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (!at && prot == PROT_NONE && len % (1UL << 20) == LIKE_AN_ARENA && !placed++)
		at = (void *)(PLACE - GUARD);
	return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
}

int main(void)
{
	struct syscript_options options = {
		.backend = SYSCRIPT_BACKEND_USER, .engine = SYSCRIPT_LUA_ON_CONFINED,
		.time_limit_ns = 10000000000,	/* an emulated machine may be busy */
	};
	int i, fds[3];

	/* Each needs an arena of its own, since the others' are still mapped. */
	for (i = 0; i < 3; i++) {
		fds[i] = load_with(source, &options);
		CHECK_EQ(lua_syscall(fds[i], 0), 1);
	}
	for (i = 0; i < 3; i++)
		CHECK_EQ(syscript_close(fds[i]), 0);
	CHECK_EQ(placed, 3);
	return 0;
}
