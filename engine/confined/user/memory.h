/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Memory for generated code of the confined engine in processes. */
#ifndef CONFINED_MEMORY_H
#define CONFINED_MEMORY_H

#include "../jit.h"

/**
 * struct code - room for generated code
 * @exec:   address at which it runs, within 2 GB of the engine
 * @write:  address at which it is written until it is sealed: another mapping, or @exec; NULL
 *          afterwards
 * @size:  bytes
 * @base:   facts for its extensions; unused for an extension
 * @labels: labels of @base
 * @beyond: for an extension: the value of machine.beyond; else 0
 */
struct code {
	void *exec, *write;
	u32 size;
	struct verify_base base;
	struct verify_label *labels;
	u64 beyond;
};

/* Maps memory for code: 0 or -errno. */
int code_map(struct code *code, u32 size);
/* Makes the code executable and read-only: 0 or -errno. */
int code_seal(struct code *code);
void code_free(struct code *code);

/*
 * Generates the code of @jit's checked image, with its base, key, thunk, thunk_args and barrier,
 * and verifies it. Returns 0, or -errno, with the verifier's reason in @error if it refuses the
 * code.
 */
int code_make(struct code *code, struct jit *jit, char *error, size_t error_len);

#endif /* CONFINED_MEMORY_H */
