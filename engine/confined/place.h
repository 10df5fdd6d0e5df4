/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The confined engine's programs, and what differs with the platform: where code, arenas
 * and stacks lie.  kernel/place.c and user/place.c implement it.
 */
#ifndef CONFINED_PLACE_H
#define CONFINED_PLACE_H

#include "engine.h"
#include "image.h"
#include "machine.h"
#include "run.h"

struct code;
struct arena;

/**
 * struct engine_vm - a program
 * @entry:     where its machine code begins
 * @code_size: bytes of that
 * @memory:    bytes of that and of the image, as far as it is kept
 * @pinned:    bytes of the arena that are
 * @stack:     of its own, or NULL: it runs on the caller's
 */
struct engine_vm {
	struct machine machine;
	struct run *run;
	struct arena *arena;
	struct code *code;
	struct image_header image;
	const void *entry;
	size_t code_size, memory, pinned;
	void *stack;
	size_t stack_size;
};

/* All return 0, or -errno with the reason in vm->run->error. */
int place_check_image(struct run *run, const struct engine_image *image);
/* The image and what is made of it may have @max bytes. */
int place_get_code(struct engine_vm *vm, const struct engine_image *image, size_t max);
void place_put_code(struct engine_vm *vm);
/* Sets the machine's @base and @user. */
int place_get_arena(struct engine_vm *vm, const struct engine_image *image);
void place_put_arena(struct engine_vm *vm);

/* The machine's clock and flags have been looked at, or will be at once. */
void place_look(struct engine_vm *vm);

void *place_get_stack(size_t size);
void place_put_stack(void *stack, size_t size);

int place_init(void);
void place_exit(void);

/* By engine.c: the line of syscalls.def that has system call @nr, or -1. */
int confined_call_index(u32 nr);

#endif /* CONFINED_PLACE_H */
