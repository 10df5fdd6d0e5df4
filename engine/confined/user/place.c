// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See place.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../image.h"
#include "../machine.h"
#include "place.h"

#define PAGE	4096UL

/* -- Arenas ------------------------------------------------------------------ */

/* One page, over and over: what is written there is of no use to anyone. */
static int map_guard(int page, char *from)
{
	size_t at;

	for (at = 0; at < IMAGE_GUARD; at += PAGE)
		if (mmap(from + at, PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, page, 0) == MAP_FAILED)
			return -1;
	return 0;
}

int arena_guard(char *arena, size_t size)
{
	int page = memfd_create("guard", MFD_CLOEXEC), ret;

	if (page < 0)
		return -1;
	ret = ftruncate(page, PAGE);
	if (!ret)
		ret = map_guard(page, arena - IMAGE_GUARD);
	if (!ret)
		ret = map_guard(page, arena + size);
	close(page);
	return ret;
}

void *arena_map(u32 shift, bool guards)
{
	size_t size = 1UL << shift, all = 2 * size + 2 * IMAGE_GUARD;
	char *from, *arena;

	from = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (from == MAP_FAILED)
		return NULL;
	arena = (char *)(((unsigned long)from + IMAGE_GUARD + size - 1) & ~(size - 1));
	/* Only the arena and its guards stay. */
	if (arena - IMAGE_GUARD > from)
		munmap(from, arena - IMAGE_GUARD - from);
	if (from + all > arena + size + IMAGE_GUARD)
		munmap(arena + size + IMAGE_GUARD,
		       from + all - (arena + size + IMAGE_GUARD));
	if (mprotect(arena, size, PROT_READ | PROT_WRITE) ||
	    (guards && arena_guard(arena, size))) {
		arena_unmap(arena, shift);
		return NULL;
	}
	return arena;
}

void arena_unmap(void *arena, u32 shift)
{
	munmap((char *)arena - IMAGE_GUARD, (1UL << shift) + 2 * IMAGE_GUARD);
}

/* -- Code --------------------------------------------------------------------- */

#define NEAR_STEP	(16UL << 20)
#define NEAR_STEPS	100

/* Maps @fd to be run, within 2 GB of stubs.S; MAP_FAILED if nothing is free. */
static void *map_near(int fd, size_t size)
{
	unsigned long near = (unsigned long)confined_enter & ~(PAGE - 1);
	unsigned int i;
	void *p;

	for (i = 1; i < 2 * NEAR_STEPS; i++) {
		unsigned long step = i / 2 * NEAR_STEP;

		p = (void *)(i & 1 ? near - NEAR_STEP - step : near + NEAR_STEP + step);
		p = mmap(p, size, PROT_READ | PROT_EXEC,
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
	code->size = size;
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
}

static int generate(struct code *code, struct jit *jit, char *error, size_t error_len)
{
	int ret = jit_generate(jit) ?: code_map(code, jit->size);

	if (ret)
		return ret;
	jit->code = code->write;
	jit->exec = (unsigned long)code->exec;
	ret = jit_generate(jit) ?: jit_verify(jit, error, error_len);
	code_seal(code);
	if (ret)
		code_free(code);
	return ret;
}

int code_make(struct code *code, struct jit *jit, char *error, size_t error_len)
{
	const struct image_header *im = jit->checked->image;
	int ret;

	jit->offsets = calloc((size_t)im->ninsns + im->nfuncs, sizeof(u32));
	if (!jit->offsets)
		return -ENOMEM;
	ret = generate(code, jit, error, error_len);
	free(jit->offsets);
	return ret;
}
