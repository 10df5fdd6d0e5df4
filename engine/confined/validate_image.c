// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements validate_image.h.
 *
 * Checker and code generator together keep this invariant, which verify_code.c checks in the
 * machine code without relying on them. For an accepted image, whatever values registers and the
 * arena hold, and whatever other threads do to the arena:
 *
 *   - control is in code that was generated for an instruction of the image, or in a stub. It
 *     gets there by falling through, by direct jumps within a function, by direct calls of
 *     function starts, and by returns from such calls. Generated code has no indirect jump; one
 *     stub has one, from a base to its extension's lookup of a number;
 *   - each load and store goes to the arena or its guards, because its address is masked in a
 *     register on every path to the access. This holds in speculation, too: a mispredicted branch
 *     follows a path of the code, and int3 stops straight-line speculation after jumps and
 *     returns. After a mispredicted return only rbp is assumed to be masked. But then a word of
 *     another function's stack may be popped as a value of the program, masked and used: the
 *     lower bits of a return address may show in the cache. This is not excluded, nor are
 *     predictions left by code that was at the same address before (docs/design/proof.md).
 *     stubs.S protects kernel code that runs afterwards;
 *   - r0 to r10 hold no values of the kernel except results of system calls, and the arena's
 *     address in the process;
 *   - between two checks of the clock and of signals the fuel spent is bounded as in machine.h,
 *     and at most native_size bytes of the machine's stack are used, plus 40 in leaf functions
 *     without a frame that save registers.
 *
 * The checker's part is the form of an image: every field of an instruction has a defined value,
 * or is zero; registers exist; jumps lead to instructions of the same function, and calls to
 * functions; functions end. It takes one pass, in time linear in the image's length.
 */
#include "validate_image.h"

struct checker {
	struct checked *out;
	enum context context;	/* context in which it is to run */
	u32 pc;			/* index of the current instruction */
	u32 func;		/* index of the current function */
	char *error;
	size_t error_len;
};

#define refuse_image(c, ...) \
	(snprintf((c)->error, (c)->error_len, __VA_ARGS__), -ENOEXEC)

#define refuse(c, fmt, ...) \
	refuse_image(c, "insn %u: " fmt, image_first_insn((c)->out) + (c)->pc, ##__VA_ARGS__)

u32 image_func_at(const struct checked *checked, u32 pc)
{
	u32 from = 0, to = checked->image->nfuncs;

	while (to - from > 1) {
		u32 middle = from + (to - from) / 2;

		if (checked->funcs[middle].start <= pc)
			from = middle;
		else
			to = middle;
	}
	return checked->funcs[from].start == pc ? from : NO_FUNC;
}

/* -- The parts of an instruction ------------------------------------------- */

/* Checks a register that is written: never r10. */
static int check_dst(struct checker *c, u8 reg)
{
	if (reg >= INSN_R10)
		return refuse(c, "r%u cannot be written", reg);
	if (reg >= 6)
		c->out->traits[c->func] |= 1 << (reg - 6);
	return 0;
}

static int check_src(struct checker *c, u8 reg)
{
	if (reg > INSN_R10)
		return refuse(c, "there is no r%u", reg);
	if (reg == INSN_R10)
		c->out->traits[c->func] |= TRAIT_FRAME;
	return 0;
}

static int check_unused(struct checker *c, const char *field, s32 value)
{
	return value ? refuse(c, "%s is %d: must be 0", field, value) : 0;
}

/*
 * Checks the address of an access.  Base registers r0 to r9 are masked; r10 is not, so accesses
 * by it must be within the frame.
 */
static int check_place(struct checker *c, u8 base, const struct image_insn *insn)
{
	s32 frame = c->out->funcs[c->func].frame, width = insn_width(insn->code);
	int err = check_src(c, base);

	if (err || base != INSN_R10)
		return err;
	if (insn->off < -frame || insn->off + width > 0)
		return refuse(c, "r10%+d, %d bytes, is outside of the frame of %d bytes",
			      insn->off, width, frame);
	return 0;
}

static int check_jump_target(struct checker *c, s32 offset)
{
	u32 start = c->out->funcs[c->func].start;
	u32 end = image_func_end(c->out, c->func);
	s64 target = (s64)c->pc + 1 + offset;

	if (target < start || target >= end)
		return refuse(c, "jumps to %lld, outside of its function (%u to %u)",
			      (long long)target, start, end - 1);
	/* A target that follows is tested when check_imm64() marks it. */
	if (c->out->marks[target] & MARK_SECOND)
		return refuse(c, "jumps into the middle of instruction %lld",
			      (long long)target - 1);
	c->out->marks[target] |= MARK_TARGET;
	return 0;
}

/* -- Instructions ---------------------------------------------------------- */

static int check_operand(struct checker *c, const struct image_insn *insn)
{
	if (insn->code & INSN_X)
		return check_src(c, insn->src) ?:
		       check_unused(c, "imm", insn->imm);
	return check_unused(c, "src", insn->src);
}

static bool is_move_offset(const struct image_insn *insn)
{
	if (!(insn->code & INSN_X))
		return insn->off == 0;
	return insn->off == 0 || insn->off == 8 || insn->off == 16 ||
	       (insn->off == 32 && INSN_CLASS(insn->code) == INSN_ALU64);
}

static int check_shift(struct checker *c, const struct image_insn *insn)
{
	u32 bits = INSN_CLASS(insn->code) == INSN_ALU64 ? 64 : 32;

	if (!(insn->code & INSN_X) && (u32)insn->imm >= bits)
		return refuse(c, "shifts %u bits by %d", bits, insn->imm);
	return check_unused(c, "off", insn->off);
}

/* Byte swaps: src selects the byte order, and BPF_ALU64 swaps always. */
static int check_swap(struct checker *c, const struct image_insn *insn)
{
	if (insn->imm != 16 && insn->imm != 32 && insn->imm != 64)
		return refuse(c, "swaps %d bits", insn->imm);
	if (INSN_CLASS(insn->code) == INSN_ALU64 && insn->code & INSN_X)
		return refuse(c, "opcode 0x%02x does not exist", insn->code);
	return check_unused(c, "src", insn->src) ?:
	       check_unused(c, "off", insn->off);
}

/* Operations on registers: no address, no jump. */
static int check_alu(struct checker *c, const struct image_insn *insn)
{
	int err = check_dst(c, insn->dst);

	if (err)
		return err;
	switch (INSN_OP(insn->code)) {
	case INSN_ADD: case INSN_SUB: case INSN_MUL:
	case INSN_OR: case INSN_AND: case INSN_XOR:
		return check_operand(c, insn) ?: check_unused(c, "off", insn->off);
	case INSN_DIV: case INSN_MOD:
		if (insn->off != 0 && insn->off != 1)
			return refuse(c, "off is %d: must be 0 or 1", insn->off);
		return check_operand(c, insn);
	case INSN_LSH: case INSN_RSH: case INSN_ARSH:
		return check_operand(c, insn) ?: check_shift(c, insn);
	case INSN_NEG:
		if (insn->code & INSN_X)
			break;
		return check_unused(c, "src", insn->src) ?:
		       check_unused(c, "off", insn->off) ?:
		       check_unused(c, "imm", insn->imm);
	case INSN_MOV:
		if (!is_move_offset(insn))
			return refuse(c, "off is %d: not the width of a move", insn->off);
		return check_operand(c, insn);
	case INSN_END:
		return check_swap(c, insn);
	}
	return refuse(c, "opcode 0x%02x does not exist", insn->code);
}

/* A constant, or an address in the arena, in two instruction slots. */
static int check_imm64(struct checker *c, const struct image_insn *insn)
{
	const struct image_insn *second = insn + 1;

	if (c->pc + 1 >= image_func_end(c->out, c->func))
		return refuse(c, "the second half is missing");
	if (c->out->marks[c->pc + 1] & MARK_TARGET)
		return refuse(c, "a jump leads into the middle of it");
	c->out->marks[c->pc + 1] |= MARK_SECOND;
	if (second->code || second->dst || second->src || second->off)
		return refuse(c, "the second half has other fields than imm");
	if (insn->src == INSN_ARENA) {
		if (second->imm || (u32)insn->imm >> c->out->image->arena_shift)
			return refuse(c, "the address is outside of the arena");
	} else if (insn->src) {
		return refuse(c, "src is %u: must be 0 or %u", insn->src,
			      INSN_ARENA);
	}
	return check_dst(c, insn->dst) ?: check_unused(c, "off", insn->off);
}

static int check_load(struct checker *c, const struct image_insn *insn)
{
	u8 mode = INSN_MODE(insn->code);

	if (mode != INSN_MEM &&
	    (mode != INSN_MEMSX || INSN_SIZE(insn->code) == INSN_DW))
		return refuse(c, "opcode 0x%02x does not exist", insn->code);
	return check_dst(c, insn->dst) ?: check_place(c, insn->src, insn) ?:
	       check_unused(c, "imm", insn->imm);
}

static int check_store_imm(struct checker *c, const struct image_insn *insn)
{
	if (INSN_MODE(insn->code) != INSN_MEM)
		return refuse(c, "opcode 0x%02x does not exist", insn->code);
	return check_place(c, insn->dst, insn) ?: check_unused(c, "src", insn->src);
}

/* An atomic operation must not cross a cache line, which the processor would lock the bus for. */
static int check_atomic(struct checker *c, const struct image_insn *insn)
{
	u32 width = insn_width(insn->code);

	if (width < 4)
		return refuse(c, "opcode 0x%02x does not exist", insn->code);
	if (insn->dst == INSN_R10 && insn->off & (width - 1))
		return refuse(c, "atomic on r10%+d, which is not a multiple of %u", insn->off, width);
	switch (insn->imm) {
	case INSN_ADD: case INSN_AND: case INSN_OR: case INSN_XOR:
		return check_src(c, insn->src);
	case INSN_ADD | INSN_FETCH: case INSN_XCHG:
		return check_dst(c, insn->src);
	case INSN_CMPXCHG:
		return check_src(c, insn->src) ?: check_dst(c, 0);
	}
	return refuse(c, "atomic operation 0x%x is not available", insn->imm);
}

static int check_store(struct checker *c, const struct image_insn *insn)
{
	int err = check_place(c, insn->dst, insn);

	if (err)
		return err;
	switch (INSN_MODE(insn->code)) {
	case INSN_MEM:
		return check_src(c, insn->src) ?: check_unused(c, "imm", insn->imm);
	case INSN_ATOMIC:
		return check_atomic(c, insn);
	}
	return refuse(c, "opcode 0x%02x does not exist", insn->code);
}

static int check_call_local(struct checker *c, const struct image_insn *insn)
{
	s64 target = (s64)c->pc + 1 + insn->imm;

	if (target < 0 || target >= c->out->image->ninsns ||
	    image_func_at(c->out, target) == NO_FUNC)
		return refuse(c, "calls %lld, where no function starts",
			      (long long)target);
	c->out->traits[c->func] |= TRAIT_CALLS;
	return 0;
}

static int check_call_base(struct checker *c, const struct image_insn *insn)
{
	if (!c->out->base)
		return refuse(c, "calls function %d of a base, but the image has none", insn->imm);
	if (insn->imm < 0 || (u32)insn->imm >= c->out->base->nfuncs)
		return refuse(c, "calls function %d of the base, which has %u", insn->imm,
			      c->out->base->nfuncs);
	c->out->traits[c->func] |= TRAIT_CALLS;
	return 0;
}

static int check_use(struct checker *c, enum context_use use)
{
	const char *why = context_refuses(c->context, use);

	return why ? refuse(c, "%s", why) : 0;
}

static int check_function(struct checker *c, const struct image_insn *insn)
{
	int err = check_use(c, CONTEXT_FUNCTIONS);

	if (!err && insn->imm - IMAGE_FUNCTION >= IMAGE_FUNCTIONS_MAX)
		return refuse(c, "calls function %d: must be below %d",
			      insn->imm - IMAGE_FUNCTION, IMAGE_FUNCTIONS_MAX);
	return err;
}

static int check_syscall(struct checker *c, const struct image_insn *insn)
{
	const char *why = "no call has this number";
	int err = check_use(c, CONTEXT_SYSCALLS);

	if (!err && insn->imm != IMAGE_CALL_SYSCALL &&
	    !image_syscall_known(insn->imm - IMAGE_SYSCALL, &why))
		return refuse(c, "compounds cannot make system call %d: %s",
			      insn->imm - IMAGE_SYSCALL, why);
	return err;
}

static int check_call_outside(struct checker *c, const struct image_insn *insn)
{
	switch (insn->imm) {
	case IMAGE_CALL_TRY:
		c->out->traits[c->func] |= TRAIT_CALLS;
		return 0;
	case IMAGE_CALL_SYSCALL:
		return check_syscall(c, insn);
	case IMAGE_CALL_THROW:
	case IMAGE_CALL_ABORT:
		return 0;
	case IMAGE_CALL_BATCH:
		return check_use(c, CONTEXT_SYSCALLS);
	}
	if (insn->imm < IMAGE_SYSCALL)
		return refuse(c, "calls %d, which does not exist", insn->imm);
	return insn->imm < IMAGE_FUNCTION ? check_syscall(c, insn) : check_function(c, insn);
}

static int check_call(struct checker *c, const struct image_insn *insn)
{
	if (insn->code == (INSN_JMP | INSN_CALL | INSN_X)) {
		c->out->traits[c->func] |= TRAIT_CALLS;
		return check_src(c, insn->dst) ?: check_unused(c, "src", insn->src) ?:
		       check_unused(c, "off", insn->off) ?:
		       check_unused(c, "imm", insn->imm);
	}
	if (insn->dst || insn->off)
		return refuse(c, "dst and off of a call must be 0");
	if (insn->src == INSN_LOCAL)
		return check_call_local(c, insn);
	if (insn->src == INSN_BASE)
		return check_call_base(c, insn);
	return check_unused(c, "src", insn->src) ?: check_call_outside(c, insn);
}

static int check_jump(struct checker *c, const struct image_insn *insn)
{
	bool wide = INSN_CLASS(insn->code) == INSN_JMP;

	switch (INSN_OP(insn->code)) {
	case INSN_JA:
		if (insn->code & INSN_X)
			break;
		return check_unused(c, "dst", insn->dst) ?:
		       check_unused(c, "src", insn->src) ?:
		       check_unused(c, wide ? "imm" : "off", wide ? insn->imm : insn->off) ?:
		       check_jump_target(c, insn_jump_offset(insn));
	case INSN_CALL:
		if (!wide)
			break;
		return check_call(c, insn);
	case INSN_EXIT:
		if (!wide || insn->code & INSN_X)
			break;
		return check_unused(c, "dst", insn->dst) ?:
		       check_unused(c, "src", insn->src) ?:
		       check_unused(c, "off", insn->off) ?:
		       check_unused(c, "imm", insn->imm);
	case 0xe0: case 0xf0:
		break;
	default:
		return check_src(c, insn->dst) ?: check_operand(c, insn) ?:
		       check_jump_target(c, insn->off);
	}
	return refuse(c, "opcode 0x%02x does not exist", insn->code);
}

static int check_insn(struct checker *c, const struct image_insn *insn)
{
	switch (INSN_CLASS(insn->code)) {
	case INSN_ALU: case INSN_ALU64:
		return check_alu(c, insn);
	case INSN_LDX:
		return check_load(c, insn);
	case INSN_ST:
		return check_store_imm(c, insn);
	case INSN_STX:
		return check_store(c, insn);
	case INSN_JMP: case INSN_JMP32:
		return check_jump(c, insn);
	case INSN_LD:
		if (insn->code == (INSN_LD | INSN_DW | INSN_IMM))
			return check_imm64(c, insn);
	}
	return refuse(c, "opcode 0x%02x does not exist", insn->code);
}

/* -- Functions, and the image as a whole ----------------------------------- */

/* Control must not pass a function's last instruction. */
static int check_func_last(struct checker *c)
{
	u8 code = c->out->insns[c->pc].code;

	if (!(c->out->marks[c->pc] & MARK_SECOND) &&
	    (code == (INSN_JMP | INSN_EXIT) || code == (INSN_JMP | INSN_JA) ||
	     code == (INSN_JMP32 | INSN_JA)))
		return 0;
	return refuse(c, "the function that starts at %u runs past its end",
		      c->out->funcs[c->func].start);
}

static int check_func(struct checker *c)
{
	const struct checked *out = c->out;
	u32 end = image_func_end(out, c->func);
	int err;

	if (out->funcs[c->func].frame)
		out->traits[c->func] |= TRAIT_FRAME;
	for (c->pc = out->funcs[c->func].start; c->pc < end; c->pc++) {
		if (image_pause(c->pc))
			return -EINTR;
		if (out->marks[c->pc] & MARK_SECOND)
			continue;
		err = check_insn(c, &out->insns[c->pc]);
		if (err)
			return err;
	}
	c->pc = end - 1;
	return check_func_last(c);
}

static int check_funcs(struct checker *c)
{
	const struct checked *out = c->out;
	u32 i, n = out->image->nfuncs;

	if (out->funcs[0].start)
		return refuse_image(c, "function 0 does not start at 0");
	for (i = 0; i < n; i++) {
		const struct image_func *func = &out->funcs[i];

		if (func->start >= image_func_end(out, i) ||
		    image_func_end(out, i) > out->image->ninsns)
			return refuse_image(c, "function %u, at %u, is not in order",
					    i, func->start);
		if (func->frame > IMAGE_FRAME_MAX || func->frame % 8)
			return refuse_image(c, "function %u has a frame of %u bytes",
					    i, func->frame);
	}
	for (i = 0; i < out->image->ntable; i++)
		if (out->table[i] >= image_first_func(out) + n)
			return refuse_image(c, "table[%u] is %u: not a function",
					    image_first_entry(out) + i, out->table[i]);
	if (out->image->ntable % 2 && out->table[out->image->ntable])
		return refuse_image(c, "the padding of the table is not zero");
	return 0;
}

static const char *machine_name(u16 machine)
{
	switch (machine) {
	case IMAGE_MACHINE_X86_64:
		return "x86-64";
	case IMAGE_MACHINE_ARM64:
		return "arm64";
	}
	return "an unknown processor";
}

static int check_header(struct checker *c, const struct image_header *im,
			size_t len)
{
	u64 arena;

	if (len < sizeof(*im) || im->magic != IMAGE_MAGIC)
		return refuse_image(c, "not an image: wrong magic number");
	if (im->version != IMAGE_VERSION)
		return refuse_image(c, "an image of version %u: compile it again, for version %u",
				    im->version, IMAGE_VERSION);
	if (im->machine != IMAGE_MACHINE)
		return refuse_image(c, "an image for %s (machine %u): compile it for %s",
				    machine_name(im->machine), im->machine,
				    machine_name(IMAGE_MACHINE));
	if (im->flags & ~IMAGE_FLAGS)
		return refuse_image(c, "unknown flags 0x%x", im->flags);
	if (!im->ninsns || im->ninsns > IMAGE_INSNS_MAX)
		return refuse_image(c, "%u instructions: must be 1 to %u",
				    im->ninsns, IMAGE_INSNS_MAX);
	if (!im->nfuncs || im->nfuncs > IMAGE_FUNCS_MAX)
		return refuse_image(c, "%u functions: must be 1 to %u",
				    im->nfuncs, IMAGE_FUNCS_MAX);
	if (im->ntable > IMAGE_TABLE_MAX)
		return refuse_image(c, "a table of %u entries: at most %u", im->ntable,
				    IMAGE_TABLE_MAX);
	if (im->arena_shift < IMAGE_ARENA_SHIFT_MIN ||
	    im->arena_shift > IMAGE_ARENA_SHIFT_MAX)
		return refuse_image(c, "an arena of 2^%u bytes: must be 2^%u to 2^%u",
				    im->arena_shift, IMAGE_ARENA_SHIFT_MIN,
				    IMAGE_ARENA_SHIFT_MAX);
	arena = 1ULL << im->arena_shift;
	if (im->stack_end >= arena || im->stack_size > im->stack_end ||
	    im->stack_end % 16 || im->stack_size % 16)
		return refuse_image(c, "a stack of %u bytes up to %u", im->stack_size,
				    im->stack_end);
	if (im->stop >= arena || im->stop % 8)
		return refuse_image(c, "stop is at %u: not 8 bytes of the arena", im->stop);
	if (im->native_size > IMAGE_NATIVE_MAX)
		return refuse_image(c, "native_size is %u: at most %u",
				    im->native_size, IMAGE_NATIVE_MAX);
	return 0;
}

static int check_base(struct checker *c, const struct image_header *im,
		      const struct image_header *base)
{
	if (!base)
		return im->flags & IMAGE_EXTENDS ?
			       refuse_image(c, "the image extends another: pass its base") : 0;
	if (!(im->flags & IMAGE_EXTENDS))
		return refuse_image(c, "the image extends no other, but a base was passed");
	if (base->flags & IMAGE_EXTENDS)
		return refuse_image(c, "the base is an extension itself");
	if (im->arena_shift != base->arena_shift ||
	    (im->flags ^ base->flags) & IMAGE_CHECKED)
		return refuse_image(c, "an arena of 2^%u bytes, flags 0x%x: the base has 2^%u and 0x%x",
				    im->arena_shift, im->flags, base->arena_shift,
				    base->flags | IMAGE_EXTENDS);
	return 0;
}

static size_t table_size(const struct image_header *im)
{
	return ((size_t)im->ntable + (im->ntable & 1)) * sizeof(u32);
}

/* The lengths in the header are already bounded, so the sum cannot overflow. */
static int check_layout(struct checker *c, size_t len)
{
	const struct image_header *im = c->out->image;
	size_t funcs = im->nfuncs * sizeof(struct image_func);
	size_t want = sizeof(*im) + funcs + table_size(im) +
		      (size_t)im->ninsns * sizeof(struct image_insn);

	if (len != want)
		return refuse_image(c, "%zu bytes: the header says %zu", len,
				    want);
	c->out->funcs = (const void *)(im + 1);
	c->out->table = (const void *)c->out->funcs + funcs;
	c->out->insns = (const void *)c->out->table + table_size(im);
	return 0;
}

static int check_all(struct checker *c)
{
	const struct image_header *im = c->out->image;
	int err;

	c->out->marks = image_alloc(im->ninsns);
	c->out->traits = image_alloc(im->nfuncs);
	if (!c->out->marks || !c->out->traits)
		return -ENOMEM;
	err = check_funcs(c);
	for (c->func = 0; !err && c->func < im->nfuncs; c->func++)
		err = check_func(c);
	return err ?: image_charge(c->out);
}

int image_check_header(const struct image_header *image, size_t len,
		       const struct image_header *base, char *error, size_t error_len)
{
	struct checker c = { .error = error, .error_len = error_len };

	return check_header(&c, image, len) ?: check_base(&c, image, base);
}

int image_check(const void *image, size_t len, enum context context,
		const struct image_header *base, struct checked *checked, char *error,
		size_t error_len)
{
	struct checker c = {
		.out = checked, .context = context, .error = error, .error_len = error_len,
	};
	int err;

	*checked = (struct checked){ .image = image, .base = base };
	err = check_header(&c, image, len) ?: check_base(&c, image, base) ?:
	      check_layout(&c, len);
	if (!err)
		err = check_all(&c);
	if (err)
		image_release(checked);
	return err;
}

void image_release(struct checked *checked)
{
	image_free(checked->marks);
	image_free(checked->traits);
	image_free(checked->charges);
	image_free(checked->ahead);
	checked->marks = NULL;
	checked->traits = NULL;
	checked->charges = NULL;
	checked->ahead = NULL;
}
