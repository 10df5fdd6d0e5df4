// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Guards around memory of the program's: all or nothing where addresses are taken, also where
 * MAP_FIXED_NOREPLACE is only a hint, as before Linux 4.17 and in qemu-user.
 */
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../../core/user/arena.c"
#include "lib_test.h"

#define SIZE	(1UL << 16)

static bool is_hint;

/* Replaces the library's mmap(), too. */
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (is_hint)
		flags &= ~MAP_FIXED_NOREPLACE;
	return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
}

/* There is one thread. */
void lock_take(__attribute__((unused)) enum lock_id id)
{
}

void lock_give(__attribute__((unused)) enum lock_id id)
{
}

static bool is_mapped(char *at)
{
	return !msync(at, IMAGE_GUARD, MS_ASYNC);
}

static void test_guards(void)
{
	char *before = mmap(NULL, SIZE + 2 * IMAGE_GUARD, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *arena = before + IMAGE_GUARD, *after = arena + SIZE;

	CHECK(before != MAP_FAILED);
	memset(before, 1, SIZE + 2 * IMAGE_GUARD);
	CHECK_EQ(arena_guard(arena, SIZE), -EEXIST);
	munmap(before, IMAGE_GUARD);
	CHECK_EQ(arena_guard(arena, SIZE), -EEXIST);
	CHECK(!is_mapped(before) && *after == 1);
	munmap(after, IMAGE_GUARD);
	CHECK_EQ(arena_guard(arena, SIZE), 0);
	*before = *after = 2;
	arena_unguard(arena);
	CHECK(!is_mapped(before) && *arena == 1 && !is_mapped(after));
	munmap(arena, SIZE);
}

int main(void)
{
	test_guards();
	is_hint = true;
	test_guards();
	return 0;
}
