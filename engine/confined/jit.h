/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The code generator: machine code for an image that the checker has passed.
 */
#ifndef CONFINED_JIT_H
#define CONFINED_JIT_H

#include "check.h"
#include "verify.h"

/**
 * struct jit_gate - a function of the platform that makes one system call
 * @address: takes r1 to r5 and machine.run as a C function takes arguments, and after
 *           them, where @args is 6, r0; returns r0; within 2 GB.  Its stack need not
 *           be aligned
 * @args:    how many of r1 to r5 and r0 it looks at
 */
struct jit_gate {
	u64 address;
	u8 args;
};

/**
 * struct jit - what to generate
 * @checked: the image
 * @base:    the code of the image that it extends, if any
 * @key:     random: constants of more than 16 bits, which the image's author chose,
 *           appear in the code xor'ed with it.  0: as they are
 * @code:    where to write it, room for @size bytes; NULL to find out @size
 * @exec:    the address that it will run at
 * @size:    bytes
 * @gate:    finds the gate of a system call that image_syscall_known(); NULL: all
 *           calls go through machine_call()
 * @gate_args: for struct verify: the gate at an address
 * @barrier: call confined_barrier before each gate
 * @live:    for each instruction, the registers that may be read after it: image_live()
 * @offsets: room for ninsns + nfuncs numbers: where the code of each instruction
 *           begins, then where that of each function does
 * @labels:  room for @nlabels of them, for the verifier
 * @numbers: where calls by number go
 * @beyond:  for an extension: where it looks up numbers that its base does not have
 */
struct jit {
	const struct checked *checked;
	const struct verify_base *base;
	u64 key;
	u8 *code;
	u64 exec;
	u32 size;
	struct jit_gate (*gate)(u32 nr);
	int (*gate_args)(u64 address);
	bool barrier;
	u16 *live;
	u32 *offsets;
	struct verify_label *labels;
	u32 nlabels;
	u32 numbers, beyond;
};

/* live.c: registers, by bits, that an instruction reads and writes. */
struct insn_effect {
	u16 reads, writes;
};

struct insn_effect insn_effect(const struct image_insn *insn);

/*
 * Fills in @found: for each instruction, the registers that may be read after it; then,
 * for each again, those that may be read at it.  The caller has zeroed it.
 */
void image_live(const struct checked *checked, u16 *found);

/*
 * To be called twice: without @code to find out @size, @nlabels and @offsets, then with
 * it.  Returns 0, or -EFBIG if @size or @nlabels is not enough.
 */
int jit_generate(struct jit *jit);

/* The first call; allocates @offsets and @labels, which jit_release() frees. */
static inline int jit_measure(struct jit *jit)
{
	const struct image_header *im = jit->checked->image;
	int err;

	jit->code = NULL;
	jit->labels = NULL;
	jit->offsets = image_alloc(((size_t)im->ninsns + im->nfuncs) * sizeof(u32));
	jit->live = image_alloc(2UL * im->ninsns * sizeof(*jit->live));
	if (!jit->offsets || !jit->live)
		return -ENOMEM;
	image_live(jit->checked, jit->live);
	err = jit_generate(jit);
	if (err)
		return err;
	jit->labels = image_alloc(jit->nlabels * sizeof(*jit->labels));
	return jit->labels ? 0 : -ENOMEM;
}

static inline void jit_release(struct jit *jit)
{
	image_free(jit->live);
	image_free(jit->offsets);
	image_free(jit->labels);
}

/* After the second: verifies the code, as verify_code() does. */
static inline int jit_verify(const struct jit *jit, char *error, size_t error_len)
{
	struct verify v = {
		.code = jit->code, .size = jit->size, .exec = jit->exec,
		.arena_shift = jit->checked->image->arena_shift,
		.labels = jit->labels, .nlabels = jit->nlabels,
		.barrier = jit->barrier, .gate_args = jit->gate_args,
		.base = jit->base, .beyond = jit->beyond,
	};

	return verify_code(&v, error, error_len);
}

/*
 * What extensions have to know about verified code: the labels of its functions and of
 * its lookup of numbers.  @labels has room for JIT_BASE_LABELS(nfuncs).
 */
#define JIT_BASE_LABELS(nfuncs)	((nfuncs) + 1)
#define JIT_BASE_NUMBERS	0
#define JIT_BASE_FUNCTION(f)	((f) + 1)

static inline void jit_base(const struct jit *jit, struct verify_base *base,
			    struct verify_label *labels)
{
	const struct image_header *im = jit->checked->image;
	const u32 *funcs = jit->offsets + im->ninsns;
	u32 i, n = 0;

	for (i = 0; i < jit->nlabels && n < JIT_BASE_LABELS(im->nfuncs); i++)
		if (jit->labels[i].at == (n ? funcs[n - 1] : jit->numbers))
			labels[n++] = jit->labels[i];
	*base = (struct verify_base){
		.exec = jit->exec, .arena_shift = im->arena_shift,
		.labels = labels, .nlabels = n,
	};
}

#endif /* CONFINED_JIT_H */
