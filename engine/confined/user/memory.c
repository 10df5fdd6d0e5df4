// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See memory.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../image.h"
#include "../machine.h"
#include "memory.h"

#define PAGE	4096UL

/* -- Arenas ------------------------------------------------------------------ */

/**
 * struct known - an arena that was mapped here, or has guards
 * @reserved: arena_map() has reserved the guards' addresses
 * @guards:   how often they are wanted
 */
struct known {
	struct known *next;
	char *arena;
	size_t size;
	bool reserved;
	unsigned int guards;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *all;

static void lock_take(void)
{
	pthread_mutex_lock(&lock);
}

static void lock_give(void)
{
	pthread_mutex_unlock(&lock);
}

/* Before any handler of the program's or library's that may free what it has. */
__attribute__((constructor))
static void begin(void)
{
	pthread_atfork(lock_take, lock_give, lock_give);
}

static struct known **find(const char *arena)
{
	struct known **link = &all;

	while (*link && (*link)->arena != arena)
		link = &(*link)->next;
	return link;
}

static struct known *add(char *arena, size_t size, bool reserved)
{
	struct known *known = malloc(sizeof(*known));

	if (known) {
		*known = (struct known){ all, arena, size, reserved, 0 };
		all = known;
	}
	return known;
}

static void forget(struct known **link)
{
	struct known *known = *link;

	*link = known->next;
	free(known);
}

/* One page, over and over: what is written there is of no use to anyone. */
static int map_guard(int page, char *from, int how)
{
	size_t at;
	int err;

	for (at = 0; at < IMAGE_GUARD; at += PAGE) {
		if (mmap(from + at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | how, page, 0) !=
		    MAP_FAILED)
			continue;
		err = -errno;
		munmap(from, at);
		return err;
	}
	return 0;
}

static int map_guards(const struct known *known)
{
	int page = memfd_create("guard", MFD_CLOEXEC), err;
	int how = known->reserved ? MAP_FIXED : MAP_FIXED_NOREPLACE;

	if (page < 0)
		return -errno;
	err = ftruncate(page, PAGE) ? -errno : 0;
	if (!err)
		err = map_guard(page, known->arena - IMAGE_GUARD, how);
	if (!err) {
		err = map_guard(page, known->arena + known->size, how);
		if (err)
			munmap(known->arena - IMAGE_GUARD, IMAGE_GUARD);
	}
	close(page);
	return err;
}

static int guard(char *arena, size_t size)
{
	struct known **link = find(arena), *known = *link ?: add(arena, size, false);
	int err = 0;

	if (!known)
		return -ENOMEM;
	/* A program may see the first part of an arena; its guards are where all of it ends. */
	if (size > known->size || (size < known->size && !known->reserved))
		return -EEXIST;
	if (!known->guards)
		err = map_guards(known);
	if (!err)
		known->guards++;
	else if (!known->reserved)
		forget(find(arena));
	return err;
}

int arena_guard(void *arena, size_t size)
{
	int err;

	lock_take();
	err = guard(arena, size);
	lock_give();
	return err;
}

static void unmap_guards(const struct known *known)
{
	munmap(known->arena - IMAGE_GUARD, IMAGE_GUARD);
	munmap(known->arena + known->size, IMAGE_GUARD);
}

void arena_unguard(void *arena)
{
	struct known **link;

	lock_take();
	link = find(arena);
	/* An arena that was unmapped before its last program has none any more. */
	if (*link && !--(*link)->guards && !(*link)->reserved) {
		unmap_guards(*link);
		forget(link);
	}
	lock_give();
}

void *arena_map(u32 shift)
{
	size_t size = 1UL << shift, many = 2 * size + 2 * IMAGE_GUARD;
	char *from, *arena;
	bool is_known;

	from = mmap(NULL, many, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (from == MAP_FAILED)
		return NULL;
	arena = (char *)(((unsigned long)from + IMAGE_GUARD + size - 1) & ~(size - 1));
	/* Only the arena and its guards stay. */
	if (arena - IMAGE_GUARD > from)
		munmap(from, arena - IMAGE_GUARD - from);
	if (from + many > arena + size + IMAGE_GUARD)
		munmap(arena + size + IMAGE_GUARD,
		       from + many - (arena + size + IMAGE_GUARD));
	lock_take();
	is_known = add(arena, size, true);
	lock_give();
	if (!is_known || mprotect(arena, size, PROT_READ | PROT_WRITE)) {
		arena_unmap(arena, shift);
		return NULL;
	}
	return arena;
}

void arena_unmap(void *arena, u32 shift)
{
	struct known **link;

	lock_take();
	link = find(arena);
	if (*link)
		forget(link);
	lock_give();
	munmap((char *)arena - IMAGE_GUARD, (1UL << shift) + 2 * IMAGE_GUARD);
}

/* -- Code --------------------------------------------------------------------- */

/* Within 1 GB of stubs.S, so that code is within 2 GB of what it extends as well. */
#define NEAR_STEP	(1UL << 20)
#define NEAR_STEPS	1000

/* The @i-th place: below and above in turn. */
static void *place_near(unsigned int i)
{
	unsigned long near = (unsigned long)confined_enter & ~(PAGE - 1);
	unsigned long away = NEAR_STEP * (i / 2 + 16);

	return (void *)(i & 1 ? near + away : near - away);
}

/* Maps @fd to be run; MAP_FAILED if nothing is free. */
static void *map_near(int fd, size_t size)
{
	static unsigned int next;
	unsigned int i, at;
	void *p;

	for (i = 0; i < 2 * NEAR_STEPS; i++) {
		at = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % (2 * NEAR_STEPS);
		p = mmap(place_near(at), size, PROT_READ | PROT_EXEC,
			 MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
		if (p != MAP_FAILED)
			return p;
	}
	return MAP_FAILED;
}

static int map_twice(struct code *code, int fd)
{
	if (ftruncate(fd, code->size))
		return -errno;
	code->exec = map_near(fd, code->size);
	if (code->exec == MAP_FAILED)
		return -ENOMEM;
	code->write = mmap(NULL, code->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (code->write != MAP_FAILED)
		return 0;
	munmap(code->exec, code->size);
	return -ENOMEM;
}

int code_map(struct code *code, u32 size)
{
	int fd = memfd_create("code", MFD_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	*code = (struct code){ .size = size };
	ret = map_twice(code, fd);
	close(fd);
	return ret;
}

void code_seal(struct code *code)
{
	munmap(code->write, code->size);
	code->write = NULL;
}

void code_free(struct code *code)
{
	if (code->write)
		code_seal(code);
	munmap(code->exec, code->size);
	free(code->labels);
}

static int keep_facts(struct code *code, const struct jit *jit)
{
	if (jit->base) {
		code->beyond = jit->exec + jit->beyond;
		return 0;
	}
	code->labels = calloc(JIT_BASE_LABELS(jit->checked->image->nfuncs),
			      sizeof(*code->labels));
	if (!code->labels)
		return -ENOMEM;
	jit_base(jit, &code->base, code->labels);
	return 0;
}

static int generate(struct code *code, struct jit *jit, char *error, size_t error_len)
{
	int ret = jit_measure(jit) ?: code_map(code, jit->size);

	if (ret)
		return ret;
	jit->code = code->write;
	jit->exec = (unsigned long)code->exec;
	ret = jit_generate(jit) ?: jit_verify(jit, error, error_len) ?: keep_facts(code, jit);
	code_seal(code);
	if (ret)
		code_free(code);
	return ret;
}

int code_make(struct code *code, struct jit *jit, char *error, size_t error_len)
{
	int ret = generate(code, jit, error, error_len);

	jit_release(jit);
	return ret;
}
