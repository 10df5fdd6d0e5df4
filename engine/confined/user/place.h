/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The confined engine's platform layer for processes: where an arena and
 * generated code lie.
 */
#ifndef CONFINED_PLACE_H
#define CONFINED_PLACE_H

#include "../jit.h"

/*
 * Maps an arena of 2^@shift bytes, with the guards that code in this process needs if
 * @guards.  Returns its address, or NULL.
 */
void *arena_map(u32 shift, bool guards);
void arena_unmap(void *arena, u32 shift);
/* The guards of an arena of @size bytes that was mapped without.  0, or -1 and errno. */
int arena_guard(char *arena, size_t size);

/**
 * struct code - room for generated code, mapped twice
 * @exec:  where it runs; within 2 GB of the engine
 * @write: where it is written, NULL once it is not any more
 * @size:  bytes
 */
struct code {
	void *exec, *write;
	u32 size;
};

/* 0 or -errno. */
int code_map(struct code *code, u32 size);
void code_seal(struct code *code);
void code_free(struct code *code);

/*
 * Generates the code of @jit's checked, by its key, gate, gate_args and barrier, and
 * verifies it.  0; or -errno, with the verifier's reason in @error where it is that.
 */
int code_make(struct code *code, struct jit *jit, char *error, size_t error_len);

#endif /* CONFINED_PLACE_H */
