// SPDX-License-Identifier: GPL-2.0
/*
 * Images made from the fuzzer's bytes are checked and, if accepted, run by the interpreter and as
 * machine code. Both must end the same way, with the same registers and arena. Nothing is mapped
 * around the arena and its guards.
 *
 * An input's first byte says how the rest is read:
 *
 *   bit 0  as instructions to be made valid, then as bytes that overwrite some of them
 *   bit 1  constants are blinded
 *   bit 2  IMAGE_CHECKED
 *   bit 3  as an image, byte by byte
 *   bit 4  system calls have thunks, with a barrier before
 *   bit 5  the machine code is mutated MUTANTS times; mutants that the verifier accepts run,
 *          too, and must stay in the arena and leave struct machine intact
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../confined/no_locks.h"
#include "../../engine/confined/validate_image.h"
#include "../../engine/confined/jit.h"
#include "../../engine/confined/machine.h"
#include "../../engine/confined/user/memory.h"
#include "user/arena.h"

#define SHIFT		16
#define SIZE		(1UL << SHIFT)
#define MARGIN		(1UL << 31)
#define USER		0x7f1200000000UL
#define FUEL		500
#define POLLS		4
#define INSNS		256
#define FUNCS		8
#define TABLE		8
#define NATIVE_MAX	(64 << 10)
#define CORRUPT		1
#define BLIND		2
#define CHECKED		4
#define RAW		8
#define THUNKS		16
#define MUTATE		32
#define MUTANTS		8
#define KEYS		4
#define CODE		(1 << 20)
#define PIECE		1024

static char *arenas[2];
static struct code mapped;

/* Tells MemorySanitizer what machine code has written, as it sees only what it has compiled. */
#ifndef __has_feature
#define __has_feature(x)	0
#endif
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define written(p, size)	__msan_unpoison(p, size)
#else
#define written(p, size)	((void)(p))
#endif

static bool in_machine_code;

static void enter(struct machine *machine)
{
	in_machine_code = true;
	confined_enter(machine);
	in_machine_code = false;
	written(machine, sizeof(*machine));
}

/* -- Called by stubs.S and the interpreter ----------------------------------- */

static unsigned int polls;
static u64 calls;	/* a digest of the calls made */

void machine_poll(struct machine *machine)
{
	machine->fuel = FUEL;
	if (++polls > POLLS)
		machine->end = MACHINE_STOP;
}

/* The whole stack is populated already. */
void machine_stack(struct machine *machine, u32 frame)
{
	(void)frame;
	machine->end = MACHINE_STACK;
}

static u64 mix(u64 a, u64 b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15UL;
	return a ^ a >> 29;
}

static u64 called(struct machine *machine, u32 call, const u64 *args, unsigned int n)
{
	u64 digest = call;
	unsigned int i;

	if (in_machine_code)
		written(args, n * sizeof(*args));
	for (i = 0; i < n; i++)
		digest = mix(digest, args[i]);
	calls = mix(calls, digest);
	if (digest % 64 == 0)
		machine->end = MACHINE_STOP;
	return digest & 1 ? digest : -(digest & 0xff);
}

/* A system call uses one of two thunks: with six arguments, or with three. */
#define THUNK_6(nr)	((nr) & 32)

u64 machine_call(const u64 *args, struct machine *machine, u32 call)
{
	u32 nr = call - IMAGE_SYSCALL;

	if (call < IMAGE_SYSCALL)
		return called(machine, call, args, 6);
	return called(machine, THUNK_6(nr), args, THUNK_6(nr) ? 6 : 3);
}

static u64 call_thunk(struct machine *machine, u32 call, const u64 *args, unsigned int n)
{
	u64 ret = called(machine, call, args, n);

	if (machine->end != MACHINE_DONE)
		confined_stop(machine);
	return ret;
}

__attribute__((force_align_arg_pointer))
static u64 thunk_6(u64 a, u64 b, u64 c, u64 d, u64 e, struct machine *machine, u64 f)
{
	return call_thunk(machine, THUNK_6(~0U), (u64[]){ a, b, c, d, e, f }, 6);
}

__attribute__((force_align_arg_pointer))
static u64 thunk_3(u64 a, u64 b, u64 c, u64 d, u64 e, struct machine *machine)
{
	(void)d, (void)e;
	return call_thunk(machine, THUNK_6(0), (u64[]){ a, b, c }, 3);
}

static struct jit_thunk find_thunk(u32 nr)
{
	if (THUNK_6(nr))
		return (struct jit_thunk){ (unsigned long)thunk_6, 6 };
	return (struct jit_thunk){ (unsigned long)thunk_3, 3 };
}

static int thunk_args(u64 address)
{
	return address == (unsigned long)thunk_6 ? 6 : address == (unsigned long)thunk_3 ? 3 : -1;
}

bool image_syscall_known(u32 nr, const char **why)
{
	*why = "it is odd";
	return nr < 512 && nr % 2 == 0;
}

/* -- Images from bytes --------------------------------------------------------- */

struct input {
	const u8 *data;
	size_t left;
};

static u32 take(struct input *in, unsigned int bytes)
{
	u32 v = 0;

	while (bytes-- && in->left) {
		v = v << 8 | *in->data++;
		in->left--;
	}
	return v;
}

struct made {
	struct image_header header;
	struct image_func funcs[FUNCS];
	u32 table[TABLE];
	struct image_insn insns[INSNS];
};

static u8 any_reg(u32 v)
{
	return v % 11;
}

static u8 any_dst(u32 v)
{
	return v % 10;
}

static const u8 alu_ops[] = {
	INSN_ADD, INSN_SUB, INSN_MUL, INSN_DIV, INSN_OR, INSN_AND, INSN_LSH,
	INSN_RSH, INSN_NEG, INSN_MOD, INSN_XOR, INSN_MOV, INSN_ARSH, INSN_END,
};

static void make_alu(struct image_insn *insn, u32 v)
{
	static const u8 moves[] = { 0, 8, 16, 32 };
	bool wide = INSN_CLASS(insn->code) == INSN_ALU64;
	u8 op = alu_ops[v % sizeof(alu_ops)];

	insn->code = INSN_CLASS(insn->code) | op | (v >> 8 & INSN_X);
	insn->dst = any_dst(insn->dst);
	insn->off = op == INSN_DIV || op == INSN_MOD ? insn->off & 1 : 0;
	if (op == INSN_NEG)
		insn->code &= ~INSN_X;
	if (op == INSN_END) {
		if (wide)
			insn->code &= ~INSN_X;
		insn->imm = 16 << (v >> 16) % 3;
		insn->src = 0;
		return;
	}
	if (insn->code & INSN_X) {
		insn->src = any_reg(insn->src);
		insn->imm = 0;
		if (op == INSN_MOV)
			insn->off = moves[(v >> 16) % (wide ? 4 : 3)];
		return;
	}
	insn->src = 0;
	if (op == INSN_NEG)
		insn->imm = 0;
	else if (op == INSN_LSH || op == INSN_RSH || op == INSN_ARSH)
		insn->imm &= wide ? 63 : 31;
}

/* Offsets that r10 reaches in any frame; frames are made large enough. */
static void make_place(struct image_insn *insn, u8 *base)
{
	*base = any_reg(*base);
	if (*base == INSN_R10)
		insn->off = -8 * (1 + (u16)insn->off % 8);
}

static void make_memory(struct image_insn *insn, u32 v)
{
	static const u8 atomics[] = {
		INSN_ADD, INSN_AND, INSN_OR, INSN_XOR, INSN_ADD | INSN_FETCH,
		INSN_XCHG, INSN_CMPXCHG,
	};
	u8 class = INSN_CLASS(insn->code), size = v & 0x18, mode = INSN_MEM;
	u8 dst = insn->dst, src = insn->src;

	if (class == INSN_LDX) {
		if (v & 0x100 && size != INSN_DW)
			mode = INSN_MEMSX;
		dst = any_dst(dst);
		make_place(insn, &src);
		insn->imm = 0;
	} else {
		make_place(insn, &dst);
		src = class == INSN_ST ? 0 : any_reg(src);
		if (class == INSN_STX)
			insn->imm = 0;
		if (class == INSN_STX && v & 0x200) {
			mode = INSN_ATOMIC;
			size = v & 8 ? INSN_DW : INSN_W;
			insn->imm = atomics[(v >> 10) % sizeof(atomics)];
			if (insn->imm & INSN_FETCH)
				src = src % 10;
		}
	}
	insn->code = class | size | mode;
	insn->dst = dst;
	insn->src = src;
}

static void make_call(struct image_insn *insn, u32 v)
{
	static const s32 outside[] = {
		IMAGE_CALL_SYSCALL, IMAGE_CALL_TRY, IMAGE_CALL_TRY,
		IMAGE_CALL_THROW, IMAGE_CALL_ABORT, IMAGE_CALL_BATCH, IMAGE_SYSCALL + 4,
		IMAGE_SYSCALL + 44,
	};

	insn->off = 0;
	insn->code = INSN_JMP | INSN_CALL;
	switch (v % 4) {
	case 0:
		insn->code |= INSN_X;
		insn->dst = any_reg(insn->dst);
		insn->src = 0;
		insn->imm = 0;
		break;
	case 1: case 2:			/* target: see make_targets() */
		insn->dst = 0;
		insn->src = INSN_LOCAL;
		break;
	case 3:
		insn->dst = 0;
		insn->src = 0;
		insn->imm = outside[(v >> 8) % (sizeof(outside) / sizeof(*outside))];
	}
}

static void make_jump(struct image_insn *insn, u32 v)
{
	static const u8 ops[] = {
		INSN_JA, INSN_JEQ, INSN_JGT, INSN_JGE, INSN_JSET, INSN_JNE, INSN_JSGT,
		INSN_JSGE, INSN_CALL, INSN_CALL, INSN_EXIT, INSN_JLT, INSN_JLE,
		INSN_JSLT, INSN_JSLE,
	};
	u8 class = INSN_CLASS(insn->code), op = ops[v % sizeof(ops)];

	if (op == INSN_CALL)
		return make_call(insn, v >> 8);
	if (op == INSN_EXIT) {
		*insn = (struct image_insn){ .code = INSN_JMP | INSN_EXIT };
		return;
	}
	insn->code = class | op | (op == INSN_JA ? 0 : v >> 8 & INSN_X);
	insn->dst = op == INSN_JA ? 0 : any_reg(insn->dst);
	insn->src = insn->code & INSN_X ? any_reg(insn->src) : 0;
	if (insn->code & INSN_X || insn->code == (INSN_JMP | INSN_JA))
		insn->imm = 0;
	if (insn->code == (INSN_JMP32 | INSN_JA))
		insn->off = 0;
}

/* A call by number, in r1 or insn->dst; the number may be valid. */
static void make_numbered(struct image_insn *insn, u32 v)
{
	u8 reg = v & 1 ? 1 : any_dst(insn->dst);

	insn[0] = (struct image_insn){ .code = INSN_ALU64 | INSN_MOV, .dst = reg,
				 .imm = (v >> 1) % (TABLE + 1) };
	insn[1] = (struct image_insn){ .code = INSN_JMP | INSN_CALL };
	if (v & 1) {
		insn[1].imm = IMAGE_CALL_TRY;
	} else {
		insn[1].code |= INSN_X;
		insn[1].dst = reg;
	}
}

static struct image_insn alu(u8 code, u8 dst, u8 src, s32 imm)
{
	return (struct image_insn){ .code = code, .dst = dst, .src = src, .imm = imm };
}

/* Four instructions that the code generator fuses; the last one writes the second register. */
static u32 make_row(struct image_insn *insn, u32 v)
{
	u8 a = v % 10, b = (v >> 4) % 10, c = (v >> 8) % 10, n = 1 + (v >> 12) % 63;
	u8 class = v >> 18 & 1 ? INSN_ALU64 : INSN_ALU, width = class == INSN_ALU64 ? 64 : 32;
	u8 first = v >> 19 & 1 ? INSN_LSH : INSN_RSH;

	n = n % (width - 1) + 1;
	insn[0] = alu(class | INSN_MOV | INSN_X, b, a, 0);
	insn[1] = alu(class | first, b, 0, n);
	insn[3] = alu(INSN_ALU64 | INSN_MOV | INSN_X, b, c, 0);
	switch (v >> 20 & 3) {
	case 0:
		insn[2] = alu(class | (INSN_LSH + INSN_RSH - first), a, 0, width - n);
		insn[3] = v >> 22 & 1 ? alu(class | INSN_OR | INSN_X, a, b, 0) :
					alu(class | INSN_OR | INSN_X, b, a, 0);
		break;
	case 1:
		insn[1] = alu(INSN_ALU64 | INSN_LSH, b, 0, n & 3);
		insn[2] = alu(INSN_ALU64 | INSN_ADD | INSN_X, b, c, 0);
		insn[3] = alu(INSN_LDX | INSN_MEM | (v >> 22 & 1 ? INSN_B : INSN_DW), b, b, 0);
		break;
	case 2:
		insn[1] = alu(INSN_ALU64 | INSN_LSH, b, 0, n & 3);
		insn[2] = alu(INSN_ALU64 | INSN_MOV | INSN_X, a, c, 0);
		insn[3] = alu(INSN_ALU64 | INSN_ADD | INSN_X, a, b, 0);
		break;
	default:
		insn[1] = alu(class | INSN_ADD | INSN_X, b, c, 0);
		insn[2] = alu(INSN_LDX | INSN_MEM | (width == 64 ? INSN_DW : INSN_W), a, b, 0);
		insn[3] = alu(class | alu_ops[n % 2 * 4 + 1], c, a, 0);
		insn[3].code |= INSN_X;
	}
	return 4;
}

static u32 make_insn(struct image_insn *insn, struct input *in, u32 room)
{
	u32 v = take(in, 3), choice;

	insn->code = take(in, 1);
	choice = insn->code >> 5;
	insn->dst = take(in, 1) % 16;
	insn->src = insn->dst * 7 + v % 11;
	insn->off = (s16)take(in, 2);
	insn->imm = v & 0x8000 ? (s32)take(in, 4) : (s8)take(in, 1);
	insn->code = (const u8[]){ INSN_ALU, INSN_ALU64, INSN_ALU64, INSN_LDX, INSN_STX,
				   INSN_ST, INSN_JMP, INSN_JMP32 }[choice];
	if (choice == 7 && insn->dst == 15 && room > 1) {
		make_numbered(insn, v);
		return 2;
	}
	if (choice < 3 && insn->dst == 14 && room > 3)
		return make_row(insn, v);
	if (choice < 3 && insn->dst == 15 && room > 1) {
		insn->code = INSN_LD | INSN_DW | INSN_IMM;
		insn->dst = v % 10;
		insn->src = v >> 8 & 1 ? INSN_ARENA : 0;
		insn->off = 0;
		if (insn->src)
			insn->imm &= SIZE - 1;
		insn[1] = (struct image_insn){ .imm = insn->src ? 0 : (s32)take(in, 4) };
		return 2;
	}
	if (choice < 3)
		make_alu(insn, v);
	else if (choice < 6)
		make_memory(insn, v);
	else
		make_jump(insn, v);
	return 1;
}

static bool is_second(const struct made *m, u32 i)
{
	return i && m->insns[i - 1].code == (INSN_LD | INSN_DW | INSN_IMM);
}

/* Gives jumps and calls targets that exist. */
static void make_targets(struct made *m, u32 func, u32 end)
{
	u32 start = m->funcs[func].start, i, target;

	for (i = start; i < end; i++) {
		struct image_insn *insn = &m->insns[i];

		if (is_second(m, i))
			continue;
		if (insn->code == (INSN_JMP | INSN_CALL) && insn->src == INSN_LOCAL)
			insn->imm = (s32)m->funcs[(u32)insn->imm % m->header.nfuncs].start -
				    (s32)i - 1;
		if ((INSN_CLASS(insn->code) != INSN_JMP &&
		     INSN_CLASS(insn->code) != INSN_JMP32) ||
		    !insn_is_jump(insn))
			continue;
		/* Mostly short distances, and often forward. */
		target = start + (i - start + 1 + (u16)insn->off % 32 + (end - start) -
				  8 % (end - start)) % (end - start);
		if (is_second(m, target))
			target--;
		if (insn->code == (INSN_JMP32 | INSN_JA))
			insn->imm = (s32)target - (s32)i - 1;
		else
			insn->off = (s32)target - (s32)i - 1;
	}
}

/* Returns the image's size. */
static size_t make_image(struct input *in, u8 how, char *image)
{
	static struct made m;
	u32 nfuncs = 1 + take(in, 1) % FUNCS, per, i, n = 0, f;
	char *p = image;

	memset(&m, 0, sizeof(m));
	m.header = (struct image_header){
		.magic = IMAGE_MAGIC, .version = IMAGE_VERSION, .machine = IMAGE_MACHINE,
		.flags = how & CHECKED ? IMAGE_CHECKED : 0,
		.arena_shift = SHIFT, .nfuncs = nfuncs,
		.ntable = take(in, 1) % (TABLE + 1),
		.stack_size = (take(in, 1) % 128) * 16,
		.native_size = take(in, 1) * 8,
	};
	m.header.stack_end = m.header.stack_size + take(in, 1) * 240;
	m.header.stack_end &= ~15;
	for (i = 0; i < m.header.ntable; i++)
		m.table[i] = take(in, 1) % nfuncs;
	/* About 11 bytes each; corrupt() may use the rest. */
	per = 1 + in->left / 8 / nfuncs;
	for (f = 0; f < nfuncs; f++) {
		u32 end = n + 1 + take(in, 1) % (per + 1);

		m.funcs[f].start = n;
		m.funcs[f].frame = 64 + take(in, 1) % 4 * 64;
		if (end > INSNS - 2 * (nfuncs - f))
			end = INSNS - 2 * (nfuncs - f);
		while (n < end)
			n += make_insn(&m.insns[n], in, end - n);
		m.insns[n++] = (struct image_insn){ .code = INSN_JMP | INSN_EXIT };
	}
	m.header.ninsns = n;
	for (f = 0; f < nfuncs; f++)
		make_targets(&m, f, f + 1 < nfuncs ? m.funcs[f + 1].start : n);

	memcpy(p, &m.header, sizeof(m.header));
	p += sizeof(m.header);
	memcpy(p, m.funcs, nfuncs * sizeof(*m.funcs));
	p += nfuncs * sizeof(*m.funcs);
	i = m.header.ntable + (m.header.ntable & 1);
	memcpy(p, m.table, i * sizeof(u32));
	p += i * sizeof(u32);
	memcpy(p, m.insns, n * sizeof(struct image_insn));
	return p + n * sizeof(struct image_insn) - image;
}

static void corrupt(struct input *in, char *image, size_t size)
{
	unsigned int n = 1 + take(in, 1) % 4;

	while (n--) {
		u32 at = take(in, 2);

		/* Often among the instructions, which are at the end. */
		at = at & 1 ? at % size : size - 1 - at % (size / 2);
		image[at] = take(in, 1);
	}
}

/* -- Running it both ways --------------------------------------------------------- */

static void prepare(struct machine *machine, const struct checked *checked, unsigned int which,
		    u64 seed)
{
	u64 *words = (u64 *)arenas[which];
	unsigned int i;

	for (i = 0; i < 32; i++)
		words[i] = words[i * 97 % (SIZE / 8)] = mix(seed, i);
	memset(machine, 0, sizeof(*machine));
	machine->user = USER;
	machine->base = (unsigned long)arenas[which];
	machine->run = machine;
	for (i = 0; i < 5; i++)
		machine->args[i] = i & 1 ? USER + mix(seed, i) % SIZE : mix(seed, i) >> 12 * i;
	machine_init(machine, checked->image);
	machine->fuel = FUEL;
	polls = 0;
	calls = 0;
}

static void fail(const char *what, const struct machine *a, const struct machine *b)
{
	fprintf(stderr, "%s: interpreted end %u pc %u value %llx fuel %lld, machine code end %u pc %u value %llx fuel %lld\n",
		what, a->end, a->pc, (unsigned long long)a->value, (long long)a->fuel,
		b->end, b->pc, (unsigned long long)b->value, (long long)b->fuel);
	abort();
}

/* Reuses one mapping for code: a mapping for each image would take most of the time. */
static void generate(struct jit *jit, const struct checked *checked, u8 how, u64 seed)
{
	static u32 offsets[INSNS + FUNCS];
	static u16 live[2 * INSNS];
	static struct verify_label labels[INSNS + FUNCS + 2 * TABLE + 4];
	static struct jit_fixup fixups[4 * (INSNS + FUNCS + TABLE)];
	static u8 draft[CODE];
	int err = -EAGAIN;
	char error[128];
	unsigned int i;
	u32 size;

	*jit = (struct jit){
		.checked = checked, .key = how & BLIND ? 0x5bd1e9955bd1e995UL ^ seed : 0,
		.thunk = how & THUNKS ? find_thunk : NULL, .thunk_args = thunk_args,
		.barrier = true, .live = live, .offsets = offsets, .labels = labels,
	};
	/* The seed selects: room for a draft, too little room, or none. */
	if (seed % 3)
		jit->draft = (struct jit_draft){
			.code = draft, .room = seed % 3 == 1 ? CODE : CODE / 64,
			.fixups = fixups, .fixup_room = sizeof(fixups) / sizeof(*fixups),
			.label_room = sizeof(labels) / sizeof(*labels),
		};
	memset(live, 0, sizeof(live));
	image_live(checked, live);
	if (jit_generate(jit) || jit->size > CODE ||
	    jit->nlabels > sizeof(labels) / sizeof(*labels))
		abort();
	size = jit->size;
	jit->code = mapped.write;
	jit->exec = (unsigned long)mapped.exec;
	/* A constant may look like a landing pad, once in 2^24: see kernel/code.c. */
	for (i = 0; err == -EAGAIN && i < KEYS; i++) {
		if (i)
			jit->key = mix(jit->key, i) | 1;
		if (jit_generate(jit) || jit->size != size)
			abort();
		err = jit_verify(jit, error, sizeof(error));
	}
	if (err) {
		fprintf(stderr, "generated, and refused: %s\n", error);
		abort();
	}
}

/* Leaves @arena and its guards zeroed, as prepare() expects; most of them are already. */
static void clear(char *arena)
{
	static const char empty[PIECE];
	char *p;

	for (p = arena - IMAGE_GUARD; p < arena + SIZE + IMAGE_GUARD; p += PIECE)
		if (memcmp(p, empty, PIECE))
			memset(p, 0, PIECE);
}

static void run_both(const struct checked *checked, struct jit *jit, u64 seed)
{
	struct machine runs[2];
	u64 digest;

	prepare(&runs[0], checked, 0, seed);
	machine_interpret(checked, NULL, &runs[0]);
	digest = calls;
	prepare(&runs[1], checked, 1, seed);
	runs[1].entry = (void *)jit->exec;
	enter(&runs[1]);
	if (digest != calls)
		fail("calls differ", &runs[0], &runs[1]);
	if (runs[0].end != runs[1].end || runs[0].fuel != runs[1].fuel)
		fail("ends differ", &runs[0], &runs[1]);
	if (runs[0].end != MACHINE_STOP && runs[0].value != runs[1].value)
		fail("values differ", &runs[0], &runs[1]);
	if (runs[0].end != MACHINE_DONE && runs[0].pc != runs[1].pc)
		fail("places differ", &runs[0], &runs[1]);
	if (memcmp(arenas[0], arenas[1], SIZE))
		fail("arenas differ", &runs[0], &runs[1]);
	clear(arenas[0]);
	clear(arenas[1]);
}

/* -- Machine code that nobody has generated ----------------------------------------- */

static u64 images, mutants, accepted;

static void tell(void)
{
	fprintf(stderr, "%llu images run; %llu mutants of machine code, %llu accepted and run\n",
		(unsigned long long)images, (unsigned long long)mutants,
		(unsigned long long)accepted);
}

/* The next number after @seed. */
static u32 any(u64 *seed, u32 below)
{
	*seed = mix(*seed + 1, 0x2545f4914f6cdd1d);
	return (*seed >> 32) % below;
}

/* Changes bits or bytes, or copies bytes from another instruction. */
static void mutate_code(struct jit *jit, u64 *seed)
{
	u32 at = any(seed, jit->size), from = any(seed, jit->size), n = 1 + any(seed, 24);

	switch (any(seed, 4)) {
	case 0: case 1:
		jit->code[at] ^= 1 << any(seed, 8);
		break;
	case 2:
		jit->code[at] = any(seed, 256);
		break;
	case 3:
		if (n > jit->size - at)
			n = jit->size - at;
		if (n > jit->size - from)
			n = jit->size - from;
		memmove(jit->code + at, jit->code + from, n);
	}
}

static void mutate_label(struct jit *jit, u64 *seed)
{
	struct verify_label *label = &jit->labels[any(seed, jit->nlabels)];
	struct verify_state *known = &label->known;

	switch (any(seed, 8)) {
	case 0:
		label->at = any(seed, jit->size);
		break;
	case 1:
		known->masked ^= 1 << any(seed, 16);
		break;
	case 2:
		known->by8 ^= 1 << any(seed, 16);
		break;
	case 3:
		known->unset ^= 1 << any(seed, 16);
		break;
	case 4:
		known->depth = any(seed, 6);
		break;
	case 5:
		known->room = any(seed, 3);
		break;
	case 6:
		known->calls ^= 1;
		break;
	case 7:
		known->credit = any(seed, 1 << 12) << any(seed, 20);
	}
}

/* The program may change only some fields of the machine. */
static void check_machine(const struct machine *before, struct machine after)
{
	after.fuel = before->fuel;
	after.native = before->native;
	after.try_sp = before->try_sp;
	after.home = before->home;
	after.end = before->end;
	after.pc = before->pc;
	after.value = before->value;
	if (memcmp(before, &after, sizeof(after)))
		fail("accepted, and changes the machine", before, &after);
}

static void run_mutant(const struct checked *checked, struct jit *jit, u64 seed)
{
	struct machine machine, before;

	prepare(&machine, checked, 1, seed);
	machine.entry = (void *)jit->exec;
	before = machine;
	enter(&machine);
	check_machine(&before, machine);
	clear(arenas[1]);
}

static void run_mutants(const struct checked *checked, struct jit *jit, u64 seed)
{
	static u8 code_was[CODE];
	static struct verify_label labels_were[INSNS + FUNCS + 2 * TABLE + 4];
	char error[128];
	u32 i, n;

	memcpy(code_was, jit->code, jit->size);
	memcpy(labels_were, jit->labels, jit->nlabels * sizeof(*labels_were));
	for (i = 0; i < MUTANTS; i++) {
		for (n = 1 + any(&seed, 3); n; n--) {
			if (any(&seed, 4))
				mutate_code(jit, &seed);
			else
				mutate_label(jit, &seed);
		}
		mutants++;
		if (!jit_verify(jit, error, sizeof(error))) {
			accepted++;
			run_mutant(checked, jit, seed);
		}
		memcpy(jit->code, code_was, jit->size);
		memcpy(jit->labels, labels_were, jit->nlabels * sizeof(*labels_were));
	}
}

static void run(const struct checked *checked, u8 how, u64 seed)
{
	struct jit jit;

	generate(&jit, checked, how, seed);
	run_both(checked, &jit, seed);
	images++;
	if (how & MUTATE)
		run_mutants(checked, &jit, seed);
}

static void reserve(char *from, size_t size)
{
	mmap(from, size, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

static void set_up(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		arenas[i] = arena_map(SHIFT);
		if (!arenas[i] || arena_guard(arenas[i], SIZE))
			abort();
		reserve(arenas[i] - IMAGE_GUARD - MARGIN, MARGIN);
		reserve(arenas[i] + SIZE + IMAGE_GUARD, MARGIN);
	}
	if (code_map(&mapped, CODE))
		abort();
	atexit(tell);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static char image[sizeof(struct made)] __attribute__((aligned(8)));
	struct input in = { data, size };
	struct checked checked;
	char error[256] = "";
	size_t i;
	u64 seed = 0;
	u8 how;
	int err;

	if (!arenas[0])
		set_up();
	if (size < 8)
		return -1;
	how = take(&in, 1);
	if (how & MUTATE)
		for (i = 0; i < size; i++)
			seed = mix(seed, data[i]);
	if (how & RAW) {
		if (in.left > sizeof(image))
			in.left = sizeof(image);
		memcpy(image, in.data, size = in.left);
	} else {
		size = make_image(&in, how, image);
	}
	if (how & CORRUPT)
		corrupt(&in, image, size);
	err = image_check(image, size, CONTEXT_PROCESS, NULL, &checked, error, sizeof(error));
	if (err && !error[0])
		abort();
	if (err && !(how & (CORRUPT | RAW))) {
		fprintf(stderr, "made, and refused: %s\n", error);
		abort();
	}
	if (err)
		return 0;
	/* All arenas have one size here, but a raw image may ask for another. */
	if (checked.image->arena_shift == SHIFT && checked.image->ninsns <= INSNS &&
	    checked.image->nfuncs <= FUNCS && checked.image->native_size <= NATIVE_MAX)
		run(&checked, how, how & MUTATE ? seed : size);
	image_release(&checked);
	return 0;
}
