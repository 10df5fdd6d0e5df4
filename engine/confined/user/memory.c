// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements memory.h: memory for machine code near the engine's stubs, where no address is both
 * writable and executable.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "user/sys.h"
#include "../include/uapi/syscript_image.h"
#include "../machine.h"
#include "memory.h"

#define PAGE	4096UL

/* -- Code --------------------------------------------------------------------- */

/* Code is at most half of a call's reach away from stubs.S, so any two codes reach each other. */
#define NEAR_STEP	(JIT_REACH / 2048)
#define NEAR_STEPS	1000

/* The @i-th candidate address: alternately below and above. */
static void *place_near(unsigned int i)
{
	unsigned long near = (unsigned long)confined_enter & ~(PAGE - 1);
	unsigned long away = NEAR_STEP * (i / 2 + 16);

	return (void *)(i & 1 ? near + away : near - away);
}

/* Maps the file @fd, or anonymous memory for -1. MAP_FAILED if no address is free. */
static void *map_near(int fd, size_t size, int access)
{
	const int how = MAP_FIXED_NOREPLACE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
	static unsigned int next;
	unsigned int i, at;
	void *p;

	for (i = 0; i < 2 * NEAR_STEPS; i++) {
		at = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % (2 * NEAR_STEPS);
		p = mmap(place_near(at), size, access, how, fd, 0);
		if (p == place_near(at))
			return p;
		/* Emulators take an address that they cannot map for a hint. */
		if (p != MAP_FAILED)
			munmap(p, size);
	}
	return MAP_FAILED;
}

/*
 * May a file of @size bytes be written? Beyond RLIMIT_FSIZE the process would be killed by
 * SIGXFSZ.
 */
static bool may_be_file(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || size <= limit.rlim_cur;
}

/* Creates an unlinked file: its descriptor, or -errno. */
static int make_file(size_t size)
{
	int fd = -EFBIG, err;

	if (may_be_file(size))
		fd = sys_above_standard(sys_call(memfd_create, "code", MFD_CLOEXEC));
	if (fd < 0)
		return fd;
	err = sys_call(ftruncate, fd, size);
	if (!err)
		return fd;
	sys_call(close, fd);
	return err;
}

static int map_twice(struct code *code, int fd)
{
	code->exec = map_near(fd, code->size, PROT_READ | PROT_EXEC);
	if (code->exec == MAP_FAILED)
		return -ENOMEM;
	code->write = mmap(NULL, code->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (code->write != MAP_FAILED)
		return 0;
	munmap(code->exec, code->size);
	return -ENOMEM;
}

static int map_once(struct code *code)
{
	code->exec = code->write = map_near(-1, code->size, PROT_READ | PROT_WRITE);
	return code->exec == MAP_FAILED ? -ENOMEM : 0;
}

/*
 * Maps a file twice, because a process may be forbidden to make memory executable later, but not
 * to map a file as executable. If no file can be made, maps anonymous memory once.
 */
int code_map(struct code *code, u32 size)
{
	int fd = make_file(size), err;

	*code = (struct code){ .size = size };
	err = fd < 0 ? fd : map_twice(code, fd);
	if (fd >= 0)
		sys_call(close, fd);
	return err ? map_once(code) : 0;
}

int code_seal(struct code *code)
{
	int err = 0;

	__builtin___clear_cache(code->exec, (char *)code->exec + code->size);
	if (code->write != code->exec)
		munmap(code->write, code->size);
	else if (mprotect(code->exec, code->size, PROT_READ | PROT_EXEC))
		err = -errno;
	code->write = NULL;
	return err;
}

void code_free(struct code *code)
{
	if (code->write && code->write != code->exec)
		munmap(code->write, code->size);
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

static int seal(struct code *code, char *error, size_t error_len)
{
	int err = code_seal(code);

	if (err)
		snprintf(error, error_len,
			 "this process may not make memory executable (%s): " ARCH_WITHOUT_CODE,
			 strerrordesc_np(-err));
	return err;
}

static int generate(struct code *code, struct jit *jit, char *error, size_t error_len)
{
	int ret = jit_measure(jit) ?: code_map(code, jit->size);

	if (ret)
		return ret;
	jit->code = code->write;
	jit->exec = (unsigned long)code->exec;
	ret = jit_generate(jit) ?: jit_verify(jit, error, error_len) ?: keep_facts(code, jit) ?:
	      seal(code, error, error_len);
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
