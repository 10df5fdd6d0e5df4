/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The format of the images that the confined engine runs, and the meaning of their
 * instructions.
 *
 * An image is this header, and after it, without gaps,
 *
 *   struct image_func   funcs[nfuncs]   by start; the first starts at 0
 *   __u32               table[ntable]   functions that may be called by number
 *   (4 bytes of zero where ntable is odd)
 *   struct image_insn         insns[ninsns]
 *
 * all little-endian.  A call of the image calls function 0.
 *
 * An image with IMAGE_EXTENDS adds functions to another image, its base, which is not itself an
 * extension. Functions, table entries and instructions of both are numbered together, the base's
 * first. A run uses both images. Function 0 is the base's; the extension's header describes the
 * stack. Frames and jumps stay within one image; table entries may name functions of both.
 *
 * Instructions are BPF's, version 4 (RFC 9669), with these differences:
 *
 *   memory     Only the arena: 2^arena_shift bytes, mapped into the process at a multiple of its
 *              size, so that an address means the same to the program, to its process and to
 *              system calls.  An access goes to ((base register mod size) + offset), and so,
 *              whatever the register holds, into the arena or one of the guards of IMAGE_GUARD
 *              bytes before and after it, which hold no data that lasts.  Atomic operations round
 *              the address down to their size.  Base and offset of an access by r10 have to lie
 *              in the function's frame.
 *   LD_IMM64   with src 1: imm is an offset in the arena, and the register gets
 *              its address.  Values of src other than 0 and 1 do not exist.
 *   r10        the address of the end of the frame of func.frame bytes.  Frames
 *              are on a stack in the arena.
 *   CALL       src 1: the function that starts at the target.  src 2: function imm of
 *              the base.  src 0: imm is one of IMAGE_CALL_*, or IMAGE_SYSCALL + the
 *              number of a system call of its machine: arguments are r1 to r5 and then r0;
 *              the result is in r0, as -errno for errors, and r1 to r5 become 0.
 *              Or imm is IMAGE_FUNCTION + the number of a function that the calling
 *              subsystem offers the program: the same, with r1 to r5.
 *   CALLX      (0x8d) the function that table[dst] names.  In a run of both images the tables
 *              are joined, so a base reaches an extension's functions.  table[0] is never a
 *              function, so that 0 can mean none.
 *   excluded   packet access (LD_ABS, LD_IND); atomic and, or and xor that fetch
 *
 * A register that was never written holds 0, or a value of an earlier instruction: never one that
 * the program could not have computed.
 */
#ifndef _UAPI_SYSCRIPT_IMAGE_H
#define _UAPI_SYSCRIPT_IMAGE_H

#include <linux/types.h>

#define IMAGE_MAGIC		0x79736f43	/* "Cosy" */
#define IMAGE_VERSION		2

/*
 * image_header.machine, by ELF's e_machine: the machine whose system calls an image makes,
 * because their numbers and structures differ. IMAGE_MACHINE is the compiler's target.
 */
#define IMAGE_MACHINE_X86_64	62
#define IMAGE_MACHINE_ARM64	183
#if defined(__x86_64__)
#define IMAGE_MACHINE		IMAGE_MACHINE_X86_64
#elif defined(__aarch64__)
#define IMAGE_MACHINE		IMAGE_MACHINE_ARM64
#endif

#define IMAGE_INSNS_MAX		(1U << 20)
#define IMAGE_FUNCS_MAX		(1U << 16)
#define IMAGE_TABLE_MAX		(1U << 16)
#define IMAGE_FRAME_MAX		(1U << 15)	/* bytes */
#define IMAGE_ARENA_SHIFT_MIN	16
#define IMAGE_ARENA_SHIFT_MAX	30
/* The arena's address as seen by an image that runs in CONTEXT_ATOMIC. */
#define IMAGE_ATOMIC_USER	(1UL << 40)
/* The reach of a 16-bit offset plus 8 bytes, in whole pages. */
#define IMAGE_GUARD		(9U << 12)

/* image_header.flags */
#define IMAGE_CHECKED		(1 << 0)	/* an access outside of the arena ends the run */
#define IMAGE_EXTENDS		(1 << 1)	/* extends an image registered before */
#define IMAGE_FLAGS		(IMAGE_CHECKED | IMAGE_EXTENDS)

/**
 * struct image_header - the beginning of an image
 * @magic:       IMAGE_MAGIC
 * @version:     IMAGE_VERSION
 * @flags:       IMAGE_CHECKED, the same in an extension and its base; IMAGE_EXTENDS
 * @ninsns:      instructions, 1 .. IMAGE_INSNS_MAX
 * @nfuncs:      functions, 1 .. IMAGE_FUNCS_MAX
 * @ntable:      entries of the table, 0 .. IMAGE_TABLE_MAX
 * @arena_shift: the arena has 2^arena_shift bytes; the same in an extension and its base
 * @machine:     IMAGE_MACHINE of the machine that it runs on
 * @stack_end:   the end of the stack, in bytes from the arena's start; frames are allocated
 *               downwards from there
 * @stack_size:  its size in bytes, at most @stack_end
 * @native_size: bytes of the machine's stack for return addresses and saved
 *               registers, at most 40 for each nested call; 0 for
 *               IMAGE_NATIVE_DEFAULT
 * @stop:        0, or the offset of an 8-byte word in the arena.  When a signal or the wall-clock
 *               limit is about to end a run, and the program may be called again, the word
 *               becomes 1 and the run has IMAGE_STOP_TIME to end by itself. Its system calls fail
 *               with EINTR; and when fuel runs out in a function of the extension, the innermost
 *               active IMAGE_CALL_TRY returns IMAGE_STOPPED
 */
struct image_header {
	__u32 magic;
	__u16 version;
	__u16 flags;
	__u32 ninsns;
	__u32 nfuncs;
	__u32 ntable;
	__u16 arena_shift;
	__u16 machine;
	__u32 stack_end;
	__u32 stack_size;
	__u32 native_size;
	__u32 stop;
};

#define IMAGE_STOP_TIME		50000000	/* ns of the program's own code */
#define IMAGE_STOPPED		(-1L)

#define IMAGE_NATIVE_DEFAULT	2048
#define IMAGE_NATIVE_MAX	(256U << 10)

/**
 * struct image_func - a function
 * @start: its first instruction; it ends where the next function starts
 * @frame: bytes of its stack frame, a multiple of 8, 0 .. IMAGE_FRAME_MAX
 */
struct image_func {
	__u32 start;
	__u32 frame;
};

struct image_insn {
	__u8 code;
#if defined(__LITTLE_ENDIAN_BITFIELD) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	__u8 dst : 4, src : 4;
#else
#error "images are little-endian"
#endif
	__s16 off;
	__s32 imm;
};

/* insn.code: class, then size and mode, or source and operation. */
#define INSN_CLASS(code)	((code) & 0x07)
#define INSN_LD			0x00
#define INSN_LDX		0x01
#define INSN_ST			0x02
#define INSN_STX		0x03
#define INSN_ALU		0x04
#define INSN_JMP		0x05
#define INSN_JMP32		0x06
#define INSN_ALU64		0x07

#define INSN_SIZE(code)		((code) & 0x18)
#define INSN_W			0x00
#define INSN_H			0x08
#define INSN_B			0x10
#define INSN_DW			0x18

#define INSN_MODE(code)		((code) & 0xe0)
#define INSN_IMM		0x00
#define INSN_MEM		0x60
#define INSN_MEMSX		0x80
#define INSN_ATOMIC		0xc0

#define INSN_X			0x08		/* the source is a register */
#define INSN_OP(code)		((code) & 0xf0)

#define INSN_ADD		0x00
#define INSN_SUB		0x10
#define INSN_MUL		0x20
#define INSN_DIV		0x30
#define INSN_OR			0x40
#define INSN_AND		0x50
#define INSN_LSH		0x60
#define INSN_RSH		0x70
#define INSN_NEG		0x80
#define INSN_MOD		0x90
#define INSN_XOR		0xa0
#define INSN_MOV		0xb0
#define INSN_ARSH		0xc0
#define INSN_END		0xd0

#define INSN_JA			0x00
#define INSN_JEQ		0x10
#define INSN_JGT		0x20
#define INSN_JGE		0x30
#define INSN_JSET		0x40
#define INSN_JNE		0x50
#define INSN_JSGT		0x60
#define INSN_JSGE		0x70
#define INSN_CALL		0x80
#define INSN_EXIT		0x90
#define INSN_JLT		0xa0
#define INSN_JLE		0xb0
#define INSN_JSLT		0xc0
#define INSN_JSLE		0xd0

/* insn.imm of an atomic operation */
#define INSN_FETCH		0x01
#define INSN_XCHG		0xe1
#define INSN_CMPXCHG		0xf1

/*
 * insn.src of LD_IMM64 and of CALL. A call of another image's function leaves r1 to r5 undefined.
 */
#define INSN_ARENA		1
#define INSN_LOCAL		1
#define INSN_BASE		2

#define INSN_R10		10

/*
 * insn.imm of a CALL with src 0, below IMAGE_SYSCALL:
 *
 *   IMAGE_CALL_SYSCALL  the system call with number r1 and the six arguments at r2: for
 *                       numbers computed at run time
 *   IMAGE_CALL_TRY      calls the function that table[r1] names with r2 as its first and second
 *                       argument, and r3 to r5 unchanged. r0: the value that it returned, or that
 *                       was thrown
 *   IMAGE_CALL_THROW    ends the innermost active IMAGE_CALL_TRY, which returns r1.  r6 to r10
 *                       are the caller's again
 *   IMAGE_CALL_ABORT    ends the run, with r1 in the text
 *   IMAGE_CALL_BATCH    batch r1, whose structure is at r2: linux/syscript_image_batch.h
 */
#define IMAGE_CALL_SYSCALL	1
#define IMAGE_CALL_TRY		2
#define IMAGE_CALL_THROW	3
#define IMAGE_CALL_ABORT	4
#define IMAGE_CALL_BATCH	5

/* r1 of IMAGE_CALL_ABORT, in programs for subsystems with known line numbers. */
enum image_reason {
	IMAGE_NIL = 1,		/* nil where a value is needed */
	IMAGE_ZERO,		/* division by zero */
	IMAGE_RANGE,		/* a number beyond 2^53 */
	IMAGE_ERROR,		/* error() of the program */
	IMAGE_TABLE,		/* use of an object that no longer exists */
	IMAGE_INDEX,		/* a write beyond an array */
};

#define IMAGE_SYSCALL		0x1000
#define IMAGE_FUNCTION		0x2000
#define IMAGE_FUNCTIONS_MAX	64

#endif /* _UAPI_SYSCRIPT_IMAGE_H */
