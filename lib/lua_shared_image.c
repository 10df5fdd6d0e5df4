// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements lua_shared_image.h: keeps one base for each size of arenas, and registers it where it
 * is needed.
 */
#include <errno.h>
#include <linux/syscript_image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/lock.h"
#include "lua_shared_image.h"
#include "lua_image.h"
#include "lua_snapshot.h"

/* Memory for a base: the image, machine code of up to twice its size, and facts about it. */
#define CODE_FACTOR	3
#define CODE_BASE	(64UL << 10)
/* The machine has bases for arenas of 1 and of 2 MiB: memory limits up to 1.1 MiB. */
#define SHIFTS_SHARED	2

/**
 * struct shared_image - a base
 * @users:  number of scripts, and of threads that are making one
 * @file:   the file that it comes from
 * @offset: offset of its data in arenas
 * @header: header of its image; the stack is described by its extensions
 * @image:  its image, relocated for @offset; NULL before it is needed
 * @run:    the run of @here, or NULL
 * @digest: digest of the machine's base, if that may be the same; otherwise NULL
 * @opened: copy of an arena with open libraries whose script had @memory_limit, or NULL
 */
struct shared_image {
	struct shared_image *next;
	unsigned int users;
	const struct cosy_file *file;
	uint32_t offset;
	struct image_header header;

	struct image_header *image;
	struct run *run;
	struct engine_vm *here;
	struct compound kernel;
	const uint8_t *digest;
	struct lua_snapshot *opened;
	size_t memory_limit;
};

/* LOCK_BASES guards these. */
static struct shared_image *bases;
/* The base without users that is kept, or NULL. */
static struct shared_image *idle;

/* -- The list of bases -------------------------------------------------------------- */

/* Returns the base for arenas of this size, with another user; or lists and returns @base. */
static struct shared_image *find_or_add(struct shared_image *base, uint32_t shift)
{
	struct shared_image *found;

	lock_take(LOCK_BASES);
	for (found = bases; found && found->header.arena_shift != shift; found = found->next)
		;
	if (!found && base) {
		base->next = bases;
		bases = found = base;
	}
	if (found)
		found->users++;
	if (found == idle)
		idle = NULL;
	lock_give(LOCK_BASES);
	return found;
}

/* With the lock. */
static void forget(const struct shared_image *base)
{
	struct shared_image **link;

	for (link = &bases; *link; link = &(*link)->next) {
		if (*link == base) {
			*link = base->next;
			break;
		}
	}
}

/* With the lock. */
static bool is_known(const struct shared_image *base)
{
	const struct shared_image *known = bases;

	while (known && known != base)
		known = known->next;
	return known;
}

/*
 * With the lock: keeps @base, or nothing, for the next script; returns the base kept before, or
 * NULL.
 */
static struct shared_image *keep_idle(struct shared_image *base)
{
	struct shared_image *old = idle;

	idle = base;
	forget(old);
	return old;
}

/* Removes a user: returns the base that is to be destroyed, or NULL. */
static struct shared_image *give_up(struct shared_image *base)
{
	struct shared_image *old = NULL;

	lock_take(LOCK_BASES);
	/* A base of the parent process is not kept for this process's scripts. */
	if (!--base->users)
		old = is_known(base) ? keep_idle(base) : base;
	lock_give(LOCK_BASES);
	return old;
}

static void destroy(struct shared_image *base)
{
	if (base->here)
		confined_engine.destroy(base->here);
	if (base->run)
		run_destroy(base->run);
	compound_close(&base->kernel);
	lua_snapshot_free(base->opened);
	free(base->image);
	free(base);
}

static const struct image_header *header_of(const struct cosy_file *file)
{
	return file_part(file, file->image);
}

static struct shared_image *make(const struct cosy_file *file, uint32_t offset,
			     const struct image_header *header)
{
	struct shared_image *base = calloc(1, sizeof(*base));

	if (!base)
		return NULL;
	base->file = file;
	base->offset = offset;
	base->header = *header_of(file);
	base->header.arena_shift = header->arena_shift;
	base->header.stack_end = header->stack_end;
	base->header.stack_size = header->stack_size;
	base->header.native_size = header->native_size;
	base->digest = lua_image_digest(offset, header->arena_shift);
	return base;
}

void shared_image_drop_idle(void)
{
	struct shared_image *old;

	lock_take(LOCK_BASES);
	old = keep_idle(NULL);
	lock_give(LOCK_BASES);
	if (old)
		destroy(old);
}

struct shared_image *shared_image_get(const struct cosy_file *file, uint32_t offset,
			      const struct image_header *header)
{
	struct shared_image *base = find_or_add(NULL, header->arena_shift), *own;

	if (base)
		return base;
	own = make(file, offset, header);
	if (!own)
		return NULL;
	/* Frees the idle base first: its share of the user's limits is for bases in use. */
	shared_image_drop_idle();
	base = find_or_add(own, header->arena_shift);
	if (base != own)
		destroy(own);
	return base;
}

void shared_image_put(struct shared_image *base)
{
	base = give_up(base);
	if (base)
		destroy(base);
}

/*
 * Forgets all bases: users keep theirs, and some may be incomplete, made by threads that the
 * child lacks.
 */
void shared_image_fork_child(void)
{
	if (idle)
		compound_close(&idle->kernel);
	bases = idle = NULL;
}

/* -- A base ----------------------------------------------------------------------------- */

const struct image_header *shared_image_header(const struct shared_image *base)
{
	return &base->header;
}

const uint32_t *shared_image_table(const struct shared_image *base)
{
	const struct image_header *image = header_of(base->file);
	const struct image_func *funcs = (const void *)(image + 1);

	return (const uint32_t *)(funcs + image->nfuncs);
}

/* The part of the image that is checked, compiled and hashed; it does not depend on the stack. */
static struct image_header *place_image(const struct cosy_file *file, uint32_t offset,
					uint32_t shift)
{
	struct image_header *image = file_place_image(file, offset);

	if (image)
		image->arena_shift = shift;
	return image;
}

static int make_image(struct shared_image *base)
{
	if (!base->image)
		base->image = place_image(base->file, base->offset, base->header.arena_shift);
	return base->image ? 0 : -ENOMEM;
}

/* The library owns its code, which counts for no script. */
static int make_here(struct shared_image *base, char *error)
{
	struct engine_image image = { .len = base->file->image.n };
	int err = make_image(base);

	if (err)
		return err;
	image.data = (const char *)base->image;
	if (!base->run)
		base->run = run_create(&confined_engine);
	if (!base->run)
		return -ENOMEM;
	base->run->flags = SYSCRIPT_BASE;
	base->run->memory_limit = ~0UL;
	err = confined_engine.create(base->run, &image);
	if (err)
		snprintf(error, RUN_ERROR_LEN, "%s", base->run->error);
	else
		base->here = base->run->vm;
	return err;
}

int shared_image_here(struct shared_image *base, struct engine_vm **vm, char *error)
{
	int err;

	lock_take(LOCK_MAKING);
	err = base->here ? 0 : make_here(base, error);
	*vm = base->here;
	lock_give(LOCK_MAKING);
	return err;
}

static struct syscript_register request(const struct image_header *image, size_t len, char *error)
{
	return (struct syscript_register){
		.flags = SYSCRIPT_BASE,
		.image = (unsigned long)image, .image_len = len,
		.memory_limit = CODE_FACTOR * len + CODE_BASE,
		.error = (unsigned long)error, .error_len = RUN_ERROR_LEN,
		.name = "lua",
	};
}

static int make_in_kernel(struct shared_image *base, char *error)
{
	int err = make_image(base);
	struct syscript_register reg;

	if (err)
		return err;
	reg = request(base->image, base->file->image.n, error);
	return compound_register(&base->kernel, &reg);
}

/* The program may have closed the descriptor, as daemons close unknown descriptors. */
static bool is_there(const struct shared_image *base)
{
	struct syscript_info info;

	return base->kernel.registered && !compound_info(&base->kernel, &info);
}

/* The process's own base in the kernel: a descriptor, or -errno with the text in @error. */
static int get_own(struct shared_image *base, char *error)
{
	int err = 0;

	lock_take(LOCK_MAKING);
	if (!is_there(base)) {
		compound_close(&base->kernel);
		err = make_in_kernel(base, error);
	}
	lock_give(LOCK_MAKING);
	return err ?: base->kernel.fd;
}

/* The machine has no such base: -ENOKEY, or an older module's error for an unknown flag. */
static bool is_not_shared(int err, const char *error)
{
	return err == -ENOKEY || (err == -EINVAL && !*error);
}

/*
 * Tries the machine's base until the machine had none once: a later registration serves later
 * processes.
 */
static int register_shared(struct shared_image *base, struct compound *kernel,
			   const struct syscript_register *reg)
{
	const uint8_t *digest = __atomic_load_n(&base->digest, __ATOMIC_RELAXED);
	struct syscript_register shared = *reg;
	int err;

	if (!digest)
		return -ENOKEY;
	shared.flags |= SYSCRIPT_EXTENDS | SYSCRIPT_SHARED;
	shared.base = (unsigned long)digest;
	err = compound_register(kernel, &shared);
	if (!is_not_shared(err, (char *)(unsigned long)reg->error))
		return err;
	__atomic_store_n(&base->digest, NULL, __ATOMIC_RELAXED);
	return -ENOKEY;
}

int shared_image_register(struct shared_image *base, struct compound *kernel,
		      struct syscript_register *reg)
{
	int err = register_shared(base, kernel, reg), own;

	if (err != -ENOKEY)
		return err;
	own = get_own(base, (char *)(unsigned long)reg->error);
	if (own < 0)
		return own;
	reg->flags |= SYSCRIPT_EXTENDS;
	reg->base = own;
	return compound_register(kernel, reg);
}

static int share(const struct cosy_file *file, unsigned int shift, char *error)
{
	struct image_header *image = place_image(file, LUA_DATA_OFFSET(file), shift);
	struct syscript_register reg = request(image, file->image.n, error);
	int err;

	if (!image)
		return -ENOMEM;
	reg.flags |= SYSCRIPT_SHARED;
	reg.engine = SYSCRIPT_ENGINE_CONFINED;
	reg.format = SYSCRIPT_CONFINED_BPF;
	err = device_register(&reg);
	free(image);
	return err;
}

int shared_image_share(char *error)
{
	const struct cosy_file *file;
	int err = lua_image(&file, error, RUN_ERROR_LEN);

	for (unsigned int i = 0; i < SHIFTS_SHARED && !err; i++)
		err = share(file, LUA_SHIFT_MIN + i, error);
	return err;
}

struct image_header *shared_image_extend(const struct shared_image *base, size_t *len)
{
	struct {
		struct image_header header;
		struct image_func func;
		struct image_insn insn;
	} *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->header = base->header;
	image->header.flags |= IMAGE_EXTENDS;
	image->header.nfuncs = image->header.ninsns = 1;
	image->header.ntable = 0;
	image->insn.code = INSN_JMP | INSN_EXIT;
	*len = sizeof(*image);
	return &image->header;
}

/* -- Arenas ------------------------------------------------------------------------------ */

bool shared_image_open(struct shared_image *base, size_t memory_limit, char *arena)
{
	struct lua_snapshot *opened;

	lock_take(LOCK_MAKING);
	opened = base->memory_limit == memory_limit ? base->opened : NULL;
	if (opened && !lua_snapshot_moves(opened, arena))
		opened = NULL;
	lock_give(LOCK_MAKING);
	return opened && lua_snapshot_copy(opened, arena);
}

void shared_image_keep(struct shared_image *base, size_t memory_limit, const char *arena,
		   const struct lua_part parts[SNAPSHOT_PARTS])
{
	lock_take(LOCK_MAKING);
	if (!base->opened) {
		base->opened = lua_snapshot_keep(arena, 1UL << base->header.arena_shift, parts,
						 SIZE_MAX);
		base->memory_limit = memory_limit;
	}
	lock_give(LOCK_MAKING);
}
