/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The code generator: makes machine code from an image that the checker has accepted. */
#ifndef CONFINED_JIT_H
#define CONFINED_JIT_H

#include "validate_image.h"
#include "verify_code.h"

/**
 * struct jit_thunk - a function of the platform that makes one system call
 * @address: a function within 2 GB whose C arguments are r1 to r5, machine.run and, if @args is
 *           6, r0; returns r0. Its stack need not be aligned. 0: the call goes through
 *           machine_call()
 * @args:    the number of r1 to r5 and r0 that it reads
 */
struct jit_thunk {
	u64 address;
	u8 args;
};

/**
 * struct jit_fixup - a branch distance to be filled in when its target is known
 * @at:    offset of its 32 bits in the code
 * @index: index of its target in jit.offsets; or JIT_OUTSIDE, and @to is the target
 */
struct jit_fixup {
	u32 at, index;
	u64 to;
};
#define JIT_OUTSIDE	(~0U)

/**
 * struct jit_draft - code written by the first call of jit_generate()
 * @key:    the value of jit.key in that call
 * @fits:   all of the code had room
 */
struct jit_draft {
	u8 *code;
	struct jit_fixup *fixups;
	u32 room, fixup_room, label_room;
	u32 nfixups;
	u64 key;
	bool fits;
};

/**
 * struct jit - parameters and results of code generation
 * @checked: the image
 * @base:    the code of the image that it extends, if any
 * @key:     random: constants of more than 16 bits, which the image's author chose, appear in the
 *           code XORed with it; 0: unchanged
 * @code:    where to write, with room for @size bytes; NULL to compute @size
 * @exec:    the address that it will run at
 * @size:    bytes
 * @thunk:    finds the thunk of a system call for which image_syscall_known() is true; NULL: all
 *           calls go through machine_call()
 * @thunk_args: as in struct verify
 * @barrier: call confined_barrier before each thunk
 * @live:    for each instruction, the registers that may be read after it: image_live()
 * @offsets: room for ninsns + nfuncs numbers: the offset of each instruction's code, then of each
 *           function's
 * @labels:  room for @nlabels labels, for the verifier
 * @draft: written by the first call; the second copies it
 * @numbers: offset of the dispatcher of calls by number
 * @beyond: for an extension: offset of its lookup of numbers that its base does not have
 */
struct jit {
	const struct checked *checked;
	const struct verify_base *base;
	u64 key;
	u8 *code;
	u64 exec;
	u32 size;
	struct jit_thunk (*thunk)(u32 nr);
	int (*thunk_args)(u64 address);
	bool barrier;
	u16 *live;
	u32 *offsets;
	struct verify_label *labels;
	u32 nlabels;
	u32 numbers, beyond;
	struct jit_draft draft;
};

/* liveness.c: sets of registers that an instruction reads and writes. */
struct insn_effect {
	u16 reads, writes;
};

struct insn_effect insn_effect(const struct image_insn *insn);

/*
 * Fills in @found: for each instruction, the registers that are live after it; then, for each
 * again, the registers that are live before it. The caller zeroes @found. Returns 0 or -EINTR.
 */
int image_live(const struct checked *checked, u16 *found);

/*
 * To be called twice: without @code to compute @size, @nlabels and @offsets, then with it.
 * Returns 0; or -EFBIG if @size or @nlabels is not enough; or -EINTR, see image_pause().
 */
int jit_generate(struct jit *jit);

/*
 * Allocates a draft that most code fits in.  If it does not fit, or there is no memory, all code
 * is generated twice.
 */
static inline void jit_draft(struct jit_draft *draft, const struct image_header *im)
{
	*draft = (struct jit_draft){
		.room = 16 * im->ninsns + 64 * im->nfuncs + 16 * im->ntable + 256,
		.fixup_room = im->ninsns + 4 * im->nfuncs + 2 * im->ntable + 16,
		.label_room = im->ninsns / 2 + im->nfuncs + im->ntable + 16,
	};
	draft->code = image_alloc(draft->room);
	draft->fixups = image_alloc(draft->fixup_room * sizeof(*draft->fixups));
}

static inline void jit_drop_draft(struct jit *jit)
{
	image_free(jit->draft.code);
	image_free(jit->draft.fixups);
	jit->draft = (struct jit_draft){ 0 };
}

/* Points jit.labels to the draft's, or allocates room for them. */
static inline int jit_measured(struct jit *jit)
{
	if (jit->draft.fits)
		return 0;
	jit_drop_draft(jit);
	image_free(jit->labels);
	jit->labels = image_alloc(jit->nlabels * sizeof(*jit->labels));
	return jit->labels ? 0 : -ENOMEM;
}

/* The first call; allocates @offsets and @labels, which jit_release() frees. */
static inline int jit_measure(struct jit *jit)
{
	const struct image_header *im = jit->checked->image;
	int err;

	jit->code = NULL;
	jit_draft(&jit->draft, im);
	jit->labels = image_alloc(jit->draft.label_room * sizeof(*jit->labels));
	jit->offsets = image_alloc(((size_t)im->ninsns + im->nfuncs) * sizeof(u32));
	jit->live = image_alloc(2UL * im->ninsns * sizeof(*jit->live));
	if (!jit->offsets || !jit->live)
		return -ENOMEM;
	err = image_live(jit->checked, jit->live) ?: jit_generate(jit);
	return err ?: jit_measured(jit);
}

static inline void jit_release(struct jit *jit)
{
	jit_drop_draft(jit);
	image_free(jit->live);
	image_free(jit->offsets);
	image_free(jit->labels);
}

/* To be called after the second jit_generate(): verifies the code with verify_code(). */
static inline int jit_verify(const struct jit *jit, char *error, size_t error_len)
{
	struct verify v = {
		.code = jit->code, .size = jit->size, .exec = jit->exec,
		.arena_shift = jit->checked->image->arena_shift,
		.labels = jit->labels, .nlabels = jit->nlabels,
		.barrier = jit->barrier, .thunk_args = jit->thunk_args,
		.base = jit->base, .beyond = jit->beyond,
	};

	return verify_code(&v, error, error_len);
}

/*
 * Facts about verified code for its extensions: labels of its functions and of its dispatcher.
 * @labels has room for JIT_BASE_LABELS(nfuncs).
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
