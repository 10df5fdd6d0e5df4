/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Memory of the confined engine in processes: arenas, their guards, generated code.
 */
#ifndef CONFINED_MEMORY_H
#define CONFINED_MEMORY_H

#include "../jit.h"

/*
 * Maps an arena of 2^@shift bytes, with addresses reserved around it for guards.  Returns
 * its address, or NULL.
 */
void *arena_map(u32 shift);
void arena_unmap(void *arena, u32 shift);

/*
 * Code that runs in this process wants guards around its arena of @size bytes; they are
 * there until each arena_guard() has had its arena_unguard().  Around memory that is not
 * arena_map()'s they need free addresses.  Returns 0, or -errno: -EEXIST where something
 * else lies there.
 */
int arena_guard(void *arena, size_t size);
void arena_unguard(void *arena);

/**
 * struct code - room for generated code, mapped twice
 * @exec:  where it runs; within 2 GB of the engine
 * @write: where it is written; NULL after it has been
 * @size:  bytes
 * @base:  what extensions have to know about it; unused for an extension
 * @labels: those of @base
 * @beyond: for an extension: the value of machine.beyond; else 0
 */
struct code {
	void *exec, *write;
	u32 size;
	struct verify_base base;
	struct verify_label *labels;
	u64 beyond;
};

/* 0 or -errno. */
int code_map(struct code *code, u32 size);
void code_seal(struct code *code);
void code_free(struct code *code);

/*
 * Generates the code of @jit's checked, by its base, key, gate, gate_args and barrier, and
 * verifies it.  0; or -errno, with the verifier's reason in @error where it is that.
 */
int code_make(struct code *code, struct jit *jit, char *error, size_t error_len);

#endif /* CONFINED_MEMORY_H */
