/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The checker decides whether an image is valid (syscript_image.h), and computes what the code
 * generator needs to know about it.
 */
#ifndef CONFINED_VALIDATE_IMAGE_H
#define CONFINED_VALIDATE_IMAGE_H

#include "../include/uapi/syscript_image.h"
#include "port.h"
#include "context.h"

/* Bits of checked.marks, for each instruction */
#define MARK_TARGET	(1 << 0)	/* is the target of a jump */
#define MARK_SECOND	(1 << 1)	/* is the second half of an LD_IMM64 */

/* Bits of checked.traits, for each function */
#define TRAIT_SAVES	0x0f		/* bit i: writes r6 + i */
#define TRAIT_CALLS	(1 << 4)	/* calls functions of the image */
#define TRAIT_FRAME	(1 << 5)	/* reads r10, or has a frame */

/**
 * struct checked - an accepted image
 *
 * The first four fields point into the image, which must exist and not change meanwhile.
 *
 * @base: header of the image that it extends, or NULL
 * @charges: for each instruction, the fuel (machine.h) that it pays before it runs or, for calls
 *           with image_calls_deep(), after the return; then for each function, the fuel that it
 *           pays at its beginning. @ahead: for each instruction, the least fuel that is paid and
 *           not yet spent before it.
 */
struct checked {
	const struct image_header *image;
	const struct image_func *funcs;
	const u32 *table;
	const struct image_insn *insns;
	const struct image_header *base;
	u8 *marks;
	u8 *traits;
	u16 *charges;
	u16 *ahead;
};

/*
 * Checks an image that is to run in @context.  @base is the header of the image that it extends,
 * or NULL.  The header is enough: a call into the base pays as a call of a function that calls
 * others, and each function checks the stack by itself.
 *
 * Returns 0 with @checked filled in, to be released by image_release(); -ENOEXEC
 * with the reason in @error, which names the instruction; or -ENOMEM; or -EINTR, see image_pause().
 */
int image_check(const void *image, size_t len, enum context context,
		const struct image_header *base, struct checked *checked, char *error,
		size_t error_len);
void image_release(struct checked *checked);

/* Checks the header; a part of image_check(). */
int image_check_header(const struct image_header *image, size_t len,
		       const struct image_header *base, char *error, size_t error_len);

/* May images make system call @nr? If not, sets *@why, unless @why is NULL, to the reason. */
bool image_syscall_known(u32 nr, const char **why);

/* In fuel.c: fills in @checked->charges.  0 or -ENOMEM. */
int image_charge(struct checked *checked);

/* Does the call at @pc go to a function that may call others, or to the base? */
bool image_call_is_deep(const struct checked *checked, u32 pc);

/* Is the instruction at @pc a call, and is it deep? */
static inline bool image_calls_deep(const struct checked *checked, u32 pc)
{
	const struct image_insn *insn = &checked->insns[pc];

	return INSN_CLASS(insn->code) == INSN_JMP && INSN_OP(insn->code) == INSN_CALL &&
	       image_call_is_deep(checked, pc);
}

/* One past the last instruction of function @f. */
static inline u32 image_func_end(const struct checked *checked, u32 f)
{
	return f + 1 < checked->image->nfuncs ? checked->funcs[f + 1].start :
						checked->image->ninsns;
}

/* The number of the image's first instruction, function or table entry: the base's come first. */
static inline u32 image_first_insn(const struct checked *checked)
{
	return checked->base ? checked->base->ninsns : 0;
}

static inline u32 image_first_func(const struct checked *checked)
{
	return checked->base ? checked->base->nfuncs : 0;
}

static inline u32 image_first_entry(const struct checked *checked)
{
	return checked->base ? checked->base->ntable : 0;
}

/* The function that starts at @pc, or NO_FUNC. */
#define NO_FUNC	(~0U)
u32 image_func_at(const struct checked *checked, u32 pc);

static inline bool insn_is_jump(const struct image_insn *insn)
{
	u8 class = INSN_CLASS(insn->code), op = INSN_OP(insn->code);

	return (class == INSN_JMP || class == INSN_JMP32) && op != INSN_CALL &&
	       op != INSN_EXIT;
}

/* The jump's distance in instructions, counted from the instruction after @insn. */
static inline s32 insn_jump_offset(const struct image_insn *insn)
{
	return insn->code == (INSN_JMP32 | INSN_JA) ? insn->imm : insn->off;
}

static inline u32 insn_width(u8 code)
{
	switch (INSN_SIZE(code)) {
	case INSN_B: return 1;
	case INSN_H: return 2;
	case INSN_W: return 4;
	}
	return 8;
}

#endif /* CONFINED_VALIDATE_IMAGE_H */
