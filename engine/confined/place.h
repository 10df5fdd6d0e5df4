/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The confined engine's programs, and the part that depends on the platform: where code,
 * arenas and stacks lie.  kernel/place.c and user/place.c implement it.
 */
#ifndef CONFINED_PLACE_H
#define CONFINED_PLACE_H

#include "batches.h"
#include "engine.h"
#include "../include/uapi/syscript_image.h"
#include "port.h"
#include "machine.h"
#include "run.h"

struct code;
struct arena;
struct seat;

/**
 * struct engine_vm - a program
 * @beyond:    for an extension: the value of machine.beyond; else 0
 * @first_insn: the number of its own first instruction
 * @stop_by:   the limit of run.time for a run that has been told to end; else 0
 * @told:      makes fuel_to_end() vary
 * @code_start: where its own machine code begins
 * @code_size: bytes of that
 * @memory:    bytes of that, and of the image as far as it is kept
 * @memory_max: the bytes that the program may have on top of that, for its batches
 * @pinned:    bytes of the arena that are pinned
 * @stack:     its own, or NULL: it runs on the caller's
 */
struct engine_vm {
	struct machine machine;
	struct run *run;
	struct arena *arena;
	struct code *code;
	struct image_header image;
	const void *code_start;
	u64 beyond;
	u32 first_insn;
	unsigned long stop_by;
	u32 told;
	size_t code_size, memory, memory_max, pinned;
	void *stack;
	size_t stack_size;
	struct seat __percpu *seats;	/* CONTEXT_ATOMIC: kernel/seat.h */
	struct batches batches;
};

/* All return 0, or -errno with the reason in vm->run->error. */
int place_check_image(struct run *run, const struct engine_image *image);
/* The image and its machine code may have @max bytes. */
int place_get_code(struct engine_vm *vm, const struct engine_image *image, size_t max);
void place_put_code(struct engine_vm *vm);
/* Sets the machine's @base and @user; CONTEXT_ATOMIC: and makes seats. */
int place_get_arena(struct engine_vm *vm, const struct engine_image *image);
void place_put_arena(struct engine_vm *vm);

#ifdef __KERNEL__
#include "kernel/seat.h"

#define PLACE_CONTEXTS	(IN_PROCESS | IN_ATOMIC | IN_SHARED)
#define PLACE_OPS	.seats = seats, .seat_error = seat_error, .seat_text = seat_text, \
	.age = place_age,

/* engine_ops.age */
int place_age(void);

/* CONTEXT_ATOMIC: do the arena's initial contents, and all CPUs' stacks, fit? */
int place_check_contents(const struct engine_vm *vm, const struct engine_image *image);
/* The arena's charge to the program's memory: a process pays for its own. */
size_t place_arena_memory(const struct engine_vm *vm);
/* All else of @vm is there, and its code is going to be run. */
void place_sync_code(const struct engine_vm *vm);

/* The machine's clock and flags have been looked at, or will be at once. */
static inline void place_look(struct engine_vm *vm)
{
	vm->machine.flags = &current_thread_info()->flags;
	vm->machine.seen = jiffies;
}
#else
#define PLACE_CONTEXTS	IN_PROCESS
#define noinline	__attribute__((noinline))
#define PLACE_OPS

static inline int place_check_contents(const struct engine_vm *vm, const struct engine_image *image)
{
	(void)vm, (void)image;
	return -EOPNOTSUPP;
}

static inline size_t place_arena_memory(const struct engine_vm *vm)
{
	(void)vm;
	return 0;
}

static inline void place_sync_code(const struct engine_vm *vm)
{
	(void)vm;
}

static inline u64 seat_call(struct machine *machine, const u64 *args, u32 function)
{
	(void)machine, (void)args, (void)function;
	return -EOPNOTSUPP;
}

/* As machine_init() has set it: each check is a machine_poll(). */
static inline void place_look(struct engine_vm *vm)
{
	(void)vm;
}
#endif

void *place_get_stack(size_t size);
void place_put_stack(void *stack, size_t size);

int place_init(void);
void place_exit(void);

/* In engine.c: the line of syscalls.def that has system call @nr, or -1. */
int confined_call_index(u32 nr);

#endif /* CONFINED_PLACE_H */
