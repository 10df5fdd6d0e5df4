/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A script's turn is the lock of the library's state of the script: counters, output, error
 * texts, and the program.  A thread has the turn while its call lasts.
 *
 * That call may never end: a signal handler may leave it by siglongjmp(3), or its thread may end
 * in it.  In the process this breaks the script.  But if the script is in the kernel, handlers
 * find no run under way, and the kernel serialises runs by itself.  So a call in the kernel has
 * its arguments, results and error state in a slot of its own (struct runtime_io), and lends the
 * turn meanwhile.
 *
 * A slot is taken by one atomic write of a note: which thread's call has the slot, and where the
 * call's stack begins.  So it is known at any instruction which call has a slot, and whether that
 * call is over: its thread has ended, or its stack no longer contains the call's frame.
 *
 * - A handler that has interrupted the turn's owner makes its call in another slot.  If the
 *   owner's call is over, the turn is the new call's.
 * - The head of the queue takes a turn whose owner has ended, or which has been lent for long
 *   while the kernel does not run the script; its call has another slot.  If the owner comes
 *   back, it has its results, but no access to what the turn guards: the text of its error is
 *   lost.  So taking a turn too early does no harm.
 *
 * Slots of calls that are over are freed when another call does not get the turn at once, or the
 * script is closed.
 */
#ifndef LIB_USER_TURN_H
#define LIB_USER_TURN_H

#include "lock.h"
#include "user.h"

/* The call has a slot, but no turn: it is nested in a call of the same thread that has the turn. */
#define TURN_NESTED	(1UL << 3)

/*
 * A note: a flag, the thread's number, and in the remaining bits the address of its stack in
 * units.
 */
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

/**
 * struct turn - a turn that is taken for a call in the kernel
 * @word: the script's turn as it was taken, or TURN_NESTED and the slot; 0: not taken
 * @slot: the call's slot
 */
struct turn {
	unsigned long word;
	unsigned int slot;
};

/*
 * Takes the turn; the script may then run in the process. Returns 0, or -EDEADLK in a handler
 * that has interrupted the turn's owner.
 */
int turn_take(struct script *script);

/* Takes the turn for a call in the kernel with the note @note, if it is free. */
static inline struct turn turn_try(struct script *script, unsigned long note)
{
	struct turn turn = { 0, 0 };

	if (!turn_take_slot(script, turn.slot, note))
		return turn;
	if (ticket_try_with(&script->turn, TICKET_LENT))
		turn.word = ticket_self() | TICKET_LENT;
	else
		turn_give_slot(script, turn.slot);
	return turn;
}

/*
 * Waits for the turn after turn_try() has failed. Does not take it in a handler that has
 * interrupted a call in the process, or too many other calls. The caller's stack begins at
 * @frame.
 */
struct turn turn_wait(struct script *script, const void *frame, unsigned long note);

/* Ends a turn that has been taken from the caller, or that other threads wait for. */
void turn_end_slowly(struct script *script, unsigned long word);

static inline void turn_end(struct script *script, struct turn turn)
{
	if (turn.word & TURN_NESTED || !ticket_change(&script->turn, turn.word, 0))
		turn_end_slowly(script, turn.word);
	turn_give_slot(script, turn.slot);
}

/*
 * With signals blocked: does the caller, or the call that it is nested in, still own the turn? If
 * so, nothing is lent until turn_lend().
 */
bool turn_regain(struct script *script, unsigned long word);
void turn_lend(struct script *script);

/*
 * With signals blocked, for requests that do not run the script, and so are possible while a call
 * in the kernel is under way: returns 0, or -EDEADLK. turn_put() gets @lent.
 */
int turn_get(struct script *script, bool *lent);
void turn_put(struct script *script, bool lent);

/* Does a call in the kernel that is not over have a slot? */
bool turn_has_calls(struct script *script);
/* Is no call under way? */
bool turn_is_idle(const struct script *script);
/* Is a call of this thread under way? */
bool turn_is_used(const struct script *script);

/*
 * Ends calls of @script that are over. Calls of this thread are recognised by their stack: they
 * began below @frame, the frame of the library function that is running.
 */
void turn_tidy(struct script *script, const void *frame);
/* As turn_tidy(), for this thread's calls only. */
void turn_tidy_own(struct script *script, const void *frame);

/* The frame of syscript_register() or syscript_close(), which make no calls themselves, or NULL. */
extern __thread const void *turn_entry __attribute__((tls_model("initial-exec")));

/* Does the caller, whose frame is @frame, run in a signal handler that interrupted one of both? */
bool turn_interrupts_entry(const void *frame);

/* In a child of fork(2), before thread_id() changes. */
void turn_fork_child(struct script *script);

#endif /* LIB_USER_TURN_H */
