/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The machine that runs an image: the state that generated code, stubs.S and the interpreter
 * share with the platform layer. arch/registers.h lists the registers.
 */
#ifndef CONFINED_MACHINE_H
#define CONFINED_MACHINE_H

/* Values of machine.end: how a run ended. */
#define MACHINE_DONE	0
#define MACHINE_STACK	1	/* no room for a frame, or for a return address */
#define MACHINE_FUNCTION	2	/* no function has the number */
#define MACHINE_THROW	3	/* a value was thrown and not caught */
#define MACHINE_ACCESS	4	/* IMAGE_CHECKED: an address outside of the arena */
#define MACHINE_ABORT	5	/* IMAGE_CALL_ABORT */
#define MACHINE_STOP	6	/* the platform ends the run: a limit, a signal */
#define MACHINE_CATCH	7	/* does not end the run: IMAGE_STOPPED is to be thrown */
#define MACHINE_MEMORY	8	/* no memory for more of the stack */

/*
 * Fuel: the cost of an instruction, in units that take 50 ns at most. It bounds the machine's
 * time, so the worst case of a memory access is always paid. fuel.c decides where it is paid, and
 * how much: at most MACHINE_STRETCH for a path to the next payment. Between two checks of the
 * clock and of the thread's flags at most MACHINE_FUEL plus twice MACHINE_STRETCH is spent, which
 * is below a millisecond.
 */
#define MACHINE_COST		1
#define MACHINE_COST_JUMP	2	/* mispredicted, with the target in no cache */
#define MACHINE_COST_ACCESS	8	/* even to a page in no TLB; also a call */
#define MACHINE_COST_ATOMIC	32	/* with all other CPUs contending */
#define MACHINE_FUEL		(1 << 13)
#define MACHINE_STRETCH		(1 << 12)

/* Offsets in struct machine, for stubs.S and for code generators. */
#define MACHINE_AT_FUEL		0
#define MACHINE_AT_STACK	8
#define MACHINE_AT_NATIVE	16
#define MACHINE_AT_USER		24
#define MACHINE_AT_BASE		32
#define MACHINE_AT_TRY		40
#define MACHINE_AT_HOME		48
#define MACHINE_AT_END		56
#define MACHINE_AT_PC		60
#define MACHINE_AT_VALUE	64
#define MACHINE_AT_ARGS		72
#define MACHINE_AT_FRAME	112
#define MACHINE_AT_NATIVE_SIZE	120
#define MACHINE_AT_RUN		128
#define MACHINE_AT_FLAGS	136
#define MACHINE_AT_RARE		144
#define MACHINE_AT_CLOCK	152
#define MACHINE_AT_SEEN		160
#define MACHINE_AT_BEYOND	168
#define MACHINE_AT_ENTRY	176
#define MACHINE_AT_BUDGET	184
#define MACHINE_AT_ATOMIC	192
#define MACHINE_AT_NATIVE_TOP	200

/* Offsets in struct percpu_ctx, kernel/percpu_ctx.h. */
#define PERCPU_CTX_AT_EVENT		0
#define PERCPU_CTX_AT_MACHINE		128

#ifndef __ASSEMBLER__

#include "port.h"

/**
 * struct machine - one run at a time
 * @fuel:   until the next check of @flags and @clock; has run out if negative
 * @stack:  the lowest address of a frame, in bytes from the arena's start; decreases when the
 *          stack grows
 * @native: the lowest stack pointer that a function may begin with; set at the beginning of the
 *          run to @native_size below its stack pointer
 * @user:   the arena's address in the process
 * @base:   the arena's address for this code
 * @try_sp: the innermost IMAGE_CALL_TRY, or 0
 * @home:   the caller's stack pointer
 * @end:    MACHINE_DONE and so on
 * @pc:     the instruction that ended the run, except for MACHINE_DONE
 * @value:  r0; for MACHINE_ACCESS the address, for MACHINE_ABORT and MACHINE_THROW r1
 * @args:   r1 to r5
 * @frame:  where the first frame ends, in bytes from the arena's start
 * @run:    for the platform's thunks, see struct jit
 * @flags, @clock: if *@flags has no bit of @rare and *@clock equals @seen, fuel that has run out
 *                 is just refilled; otherwise, and always with the values of machine_init(),
 *                 machine_poll() is called
 * @beyond: handles numbers that are not in a base's table: the extension's lookup or, as set by
 *          machine_init(), the end of the run
 * @entry:  where runs begin, in the image's machine code or its base's
 * @budget: in CONTEXT_ATOMIC: the fuel of a run, which is not refilled
 * @atomic: runs in CONTEXT_ATOMIC, and calls functions of the subsystem
 * @native_top: where generated code has a stack and the processor's stack pointer does not change
 *          for it: its end, or 0 for a part of the caller's stack
 */
struct machine {
	s64 fuel;
	s64 stack;
	u64 native;
	u64 user;
	u64 base;
	u64 try_sp;
	u64 home;
	u32 end;
	u32 pc;
	u64 value;
	u64 args[5];
	u64 frame;
	u64 native_size;
	void *run;
	const unsigned long *flags;
	unsigned long rare;
	const volatile unsigned long *clock;
	unsigned long seen;
	u64 beyond;
	const void *entry;
	u64 budget;
	bool atomic;
	u64 native_top;
};

/*
 * Bytes of the machine's stack that a call takes; a function takes 8 more for each of r6..r9 that
 * it writes.
 */
#define MACHINE_NATIVE_CALL	8
#define MACHINE_NATIVE_TRY	64

/* Sets @machine up, in place, for @image: all but @user, @base, @entry, @args and @run. */
struct image_header;
void machine_init(struct machine *machine, const struct image_header *image);

/* Prepares @machine for a run. */
static inline void machine_begin(struct machine *machine)
{
	machine->fuel = MACHINE_FUEL;
	machine->try_sp = 0;
	machine->end = MACHINE_DONE;
}

/* The text that says how the run ended. */
void machine_text(const struct machine *machine, char *text, size_t len);

/* Runs an image, on top of @base if that is not NULL, without generated code. */
struct checked;
void machine_interpret(const struct checked *checked, const struct checked *base,
		       struct machine *machine);

/* In stubs.S: runs generated code from @machine->entry.  Returns 0, for run_script(). */
long confined_enter(void *machine);

/* Ends the run from a function called by generated code.  Does not return. */
void confined_stop(struct machine *machine);

/*
 * Called by stubs.S.
 *
 * machine_poll(): fuel has run out, and flags or the clock need attention.  Sets the fuel again;
 * to end the run sets @machine->end to MACHINE_STOP, or else to MACHINE_CATCH.
 *
 * machine_call(): makes an IMAGE_CALL_SYSCALL, IMAGE_CALL_BATCH or a system call: @call is
 * insn.imm, @args are r1 to r5 and r0. Returns r0, and may end the run like machine_poll().
 *
 * machine_stack(): makes room for a frame that begins @frame bytes from the arena's start, or
 * sets @machine->end.
 *
 * The last two may change @machine->base.
 */
void machine_poll(struct machine *machine);
u64 machine_call(const u64 *args, struct machine *machine, u32 call);
void machine_stack(struct machine *machine, u32 frame);

#endif /* __ASSEMBLER__ */
#endif /* CONFINED_MACHINE_H */
