/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Turns of scripts, which guard what the library keeps of them: counters, output, texts of
 * errors, and the program.  One thread has a turn for as long as its call lasts.
 *
 * That call may never end: a signal handler leaves it by siglongjmp(3), or its thread ends in
 * it.  In the process this breaks the script.  But where the script is in the kernel, handlers
 * find no run under way, and the kernel makes one run after another without any help.  So
 * what a call in the kernel needs is its own, in a slot: arguments, results, and whether it has
 * failed (struct runtime_io); and the turn is lent meanwhile.
 *
 * A slot is taken and noted by one instruction: its note says which thread's call has it, and
 * where the call's stack begins.  So it is known at any instruction whose a slot is, and whether
 * that call is over: its thread has ended, or runs with a stack that no longer has the call.
 *
 * - A handler that has interrupted the turn's owner makes its call in another slot.  If the
 *   owner's call is over, the turn is the new call's.
 * - The head of the queue takes a turn, in another slot, whose owner has ended, or that has been
 *   lent for long while the kernel does not run the script.  If the owner comes back it has its
 *   results, but no part in what the turn guards: the text of its error is lost.  So to take a
 *   turn too early does no harm.
 *
 * Slots of calls that are over are found when another call does not get the turn at once, or
 * the script is closed.
 */
#ifndef LIB_USER_TURN_H
#define LIB_USER_TURN_H

#include "lock.h"
#include "user.h"

/* Calls @script has no turn, but a slot: it is nested in a call that has it. */
#define TURN_NESTED	(1UL << 3)

/* A note: 1 bit, the thread's number, and its stack's address in units that hold in the rest */
#define NOTE_HOLDS	1UL	/* a reference to the script is held for the call */
#define NOTE_TID_SHIFT	1
#define NOTE_TID_BITS	22	/* PID_MAX_LIMIT of Linux */
#define NOTE_FRAME_SHIFT (NOTE_TID_SHIFT + NOTE_TID_BITS)
#define NOTE_FRAME_UNIT	128	/* less than a signal's frame; 48 bits of addresses */

static inline unsigned long turn_note(const void *frame, bool holds)
{
	return (unsigned long)frame / NOTE_FRAME_UNIT << NOTE_FRAME_SHIFT |
	       (unsigned long)thread_id() << NOTE_TID_SHIFT | (holds ? NOTE_HOLDS : 0);
}

static inline bool turn_take_slot(struct script *script, unsigned int slot, unsigned long note)
{
	unsigned long none = 0;

	return __atomic_compare_exchange_n(&script->slots[slot], &none, note, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void turn_give_slot(struct script *script, unsigned int slot)
{
	__atomic_store_n(&script->slots[slot], 0, __ATOMIC_RELEASE);
}

/*
 * Takes the turn, in which the script may run in the process.  Returns 0, or -EDEADLK in a
 * handler that has interrupted its owner.
 */
int turn_take(struct script *script);

/*
 * For a call in the kernel, with the note @note: the turn, where it is free.  Returns a word
 * for the following functions, or 0.
 */
static inline unsigned long turn_try(struct script *script, unsigned long note)
{
	if (!turn_take_slot(script, 0, note))
		return 0;
	if (ticket_try_with(&script->turn, TICKET_LENT))
		return ticket_self() | TICKET_LENT;
	turn_give_slot(script, 0);
	return 0;
}

/*
 * Where that has failed: waits.  Returns such a word, or 0: in a handler that has interrupted a
 * call in the process, or too many others.  The caller's stack begins at @frame.
 */
unsigned long turn_wait(struct script *script, const void *frame, unsigned long note);

/* Gives back a turn that has been taken from the caller, or that others wait for. */
void turn_end_slowly(struct script *script, unsigned long word);

static inline void turn_end(struct script *script, unsigned long word)
{
	if (word & TURN_NESTED || !ticket_change(&script->turn, word, 0))
		turn_end_slowly(script, word);
	turn_give_slot(script, ticket_slot(word));
}

/*
 * With signals blocked: is the caller, or the call that it is nested in, still the owner?
 * Then nothing is lent until turn_lend().
 */
bool turn_regain(struct script *script, unsigned long word);
void turn_lend(struct script *script);

/*
 * With signals blocked, for what does not run the script, and so can be done while a call in
 * the kernel is under way: returns 0, or -EDEADLK.  turn_put() gets what is in @lent.
 */
int turn_get(struct script *script, bool *lent);
void turn_put(struct script *script, bool lent);

/* Has a call in the kernel, which is not over, a slot? */
bool turn_has_calls(struct script *script);
/* Is no call under way? */
bool turn_is_idle(const struct script *script);
/* Is one of this thread's? */
bool turn_is_used(const struct script *script);

/*
 * Ends calls of @script that are over.  Those of this thread are known by their stack: they
 * began below @frame, where a function of the library that goes on has been called.
 */
void turn_tidy(struct script *script, const void *frame);
/* Only those of this thread. */
void turn_tidy_own(struct script *script, const void *frame);

/* That of syscript_register() or syscript_close(), which make no calls themselves, or NULL. */
extern __thread const void *turn_entry __attribute__((tls_model("initial-exec")));

/* In a child of fork(2), before thread_id() is another one. */
void turn_fork_child(struct script *script);

#endif /* LIB_USER_TURN_H */
