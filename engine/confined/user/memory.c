// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See memory.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../include/uapi/syscript_image.h"
#include "../machine.h"
#include "memory.h"

#define PAGE	4096UL

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
