// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements turn.h: takes, lends and takes back turns, and finds calls that never return. */
#include <errno.h>
#include <signal.h>

#include "sys.h"
#include "turn.h"

/* 100 ms with TICKET_POLL_NS. */
#define POLLS_TAKEN	10

_Static_assert(TURN_SLOTS <= 1U << (64 - TICKET_SLOT_SHIFT), "a slot is a part of a word");

/* -- Notes -------------------------------------------------------------------------- */

static unsigned long note_at(const struct script *script, unsigned int slot)
{
	return __atomic_load_n(&script->slots[slot], __ATOMIC_ACQUIRE);
}

static int note_tid(unsigned long note)
{
	return note >> NOTE_TID_SHIFT & ((1UL << NOTE_TID_BITS) - 1);
}

static unsigned long note_frame(unsigned long note)
{
	return (note >> NOTE_FRAME_SHIFT) * NOTE_FRAME_UNIT;
}

static bool is_mine(unsigned long note)
{
	return note && note_tid(note) == thread_id();
}

static bool is_on(const stack_t *stack, unsigned long p)
{
	return p - (unsigned long)stack->ss_sp < stack->ss_size;
}

/*
 * Has this thread left its call that began at @frame? Not if the code that runs is a signal
 * handler on an alternate stack, or has its frame below @frame.
 */
static bool is_left(unsigned long frame, const void *now)
{
	stack_t stack = { 0 };

	sys_call(sigaltstack, 0, &stack);
	if (stack.ss_flags & SS_ONSTACK && !is_on(&stack, frame))
		return false;
	if (!(stack.ss_flags & (SS_ONSTACK | SS_DISABLE)) && is_on(&stack, frame))
		return true;
	return (unsigned long)now >= frame;
}

static bool has_ended(int tid)
{
	return sys_call(tgkill, sys_call(getpid), tid, 0) == -ESRCH;
}

/* Can the call that @note names no longer return? */
static bool is_over(unsigned long note, const void *now)
{
	if (!note)
		return false;
	return is_mine(note) ? is_left(note_frame(note), now) : has_ended(note_tid(note));
}

/* -- Slots -------------------------------------------------------------------------- */

/* Frees the slot of a call that is over, with the call's reference to the script. */
static void give_slot_left(struct script *script, unsigned int slot, unsigned long note,
			   const void *now)
{
	if (is_over(note, now) &&
	    __atomic_compare_exchange_n(&script->slots[slot], &note, 0, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED) &&
	    note & NOTE_HOLDS)
		user_fd_put(script);
}

static void give_slots_left(struct script *script, const void *now)
{
	for (unsigned int i = 0; i < TURN_SLOTS; i++)
		give_slot_left(script, i, note_at(script, i), now);
}

static int take_slot(struct script *script, unsigned long note)
{
	for (unsigned int i = 0; i < TURN_SLOTS; i++)
		if (turn_take_slot(script, i, note))
			return i;
	return -1;
}

static unsigned long slot_bits(int slot)
{
	return (unsigned long)slot << TICKET_SLOT_SHIFT;
}

/* -- Turns -------------------------------------------------------------------------- */

/*
 * Frees the turn if a call of this thread that is over has left it. Must come before the slots are
 * freed: until then the turn's slot still has the note of that call.
 */
static void give_turn_left(struct script *script, const void *now)
{
	unsigned long word = ticket_word(&script->turn), note;

	if (!(word & TICKET_LENT) || !ticket_says_me(word))
		return;
	note = note_at(script, ticket_slot(word));
	if (is_mine(note) && is_over(note, now))
		ticket_back(&script->turn, word, 0);
}

void turn_tidy_own(struct script *script, const void *now)
{
	give_turn_left(script, now);
	for (unsigned int i = 0; i < TURN_SLOTS; i++) {
		unsigned long note = note_at(script, i);

		if (is_mine(note))
			give_slot_left(script, i, note, now);
	}
}

void turn_tidy(struct script *script, const void *now)
{
	give_turn_left(script, now);
	give_slots_left(script, now);
}

static bool kernel_runs(struct script *script)
{
	struct syscript_info info;

	return user_info(script, &info) || info.state == SYSCRIPT_STATE_RUNNING;
}

/* May the head of the queue take the turn, which is free or lent? */
static bool may_take(struct script *script, unsigned long word, unsigned int polls)
{
	unsigned long note;

	if (!word)
		return true;
	note = note_at(script, ticket_slot(word));
	return (note && has_ended(note_tid(note))) ||
	       (polls >= POLLS_TAKEN && !kernel_runs(script));
}

static unsigned long choose_whole(unsigned long word, unsigned int polls, void *script)
{
	return may_take(script, word, polls) ? ticket_self() : 0;
}

int turn_take(struct script *script)
{
	if (ticket_try(&script->turn))
		return 0;
	if (ticket_is_mine(&script->turn))
		return -EDEADLK;
	ticket_wait(&script->turn, choose_whole, script);
	return 0;
}

/**
 * struct waiting - a call in the kernel that waits for the turn
 * @slot: the slot that it has taken, or negative
 */
struct waiting {
	struct script *script;
	const void *frame;
	unsigned long note;
	int slot;
};

static unsigned long choose_slot(unsigned long word, unsigned int polls, void *arg)
{
	struct waiting *w = arg;

	if (!may_take(w->script, word, polls))
		return 0;
	if (w->slot < 0) {
		give_slots_left(w->script, w->frame);
		w->slot = take_slot(w->script, w->note);
	}
	return w->slot < 0 ? 0 : ticket_self() | TICKET_LENT | slot_bits(w->slot);
}

static unsigned long nest(struct script *script, unsigned long note)
{
	int slot = ticket_word(&script->turn) & TICKET_LENT ? take_slot(script, note) : -1;

	return slot < 0 ? 0 : slot_bits(slot) | TURN_NESTED;
}

struct turn turn_wait(struct script *script, const void *frame, unsigned long note)
{
	struct waiting w = { script, frame, note, -1 };
	unsigned long word;

	turn_tidy(script, frame);
	word = ticket_is_mine(&script->turn) ? nest(script, note) :
					       ticket_wait(&script->turn, choose_slot, &w);
	return (struct turn){ word, ticket_slot(word) };
}

void turn_end_slowly(struct script *script, unsigned long word)
{
	if (!(word & TURN_NESTED))
		ticket_back(&script->turn, word, 0);
}

bool turn_regain(struct script *script, unsigned long word)
{
	if (word & TURN_NESTED) {
		word = ticket_word(&script->turn);
		if (!(word & TICKET_LENT) || !ticket_says_me(word))
			return false;
	}
	return ticket_back(&script->turn, word, word & ~(TICKET_LENT | TICKET_WAITED));
}

/* The thread that takes the turn sees the owner's stores: tests/litmus/turn-lend.litmus. */
void turn_lend(struct script *script)
{
	__atomic_fetch_or(&script->turn.owner, TICKET_LENT, __ATOMIC_RELEASE);
}

int turn_get(struct script *script, bool *lent)
{
	*lent = turn_regain(script, TURN_NESTED);
	return *lent ? 0 : turn_take(script);
}

void turn_put(struct script *script, bool lent)
{
	if (lent)
		turn_lend(script);
	else
		ticket_give(&script->turn);
}

/* -- Calls under way ---------------------------------------------------------------- */

static bool has_slots(const struct script *script)
{
	for (unsigned int i = 0; i < TURN_SLOTS; i++)
		if (note_at(script, i))
			return true;
	return false;
}

bool turn_has_calls(struct script *script)
{
	if (!has_slots(script))
		return false;
	give_slots_left(script, __builtin_frame_address(0));
	return has_slots(script);
}

bool turn_is_idle(const struct script *script)
{
	return !ticket_word(&script->turn) && !has_slots(script);
}

bool turn_is_used(const struct script *script)
{
	if (ticket_is_mine(&script->turn))
		return true;
	for (unsigned int i = 0; i < TURN_SLOTS; i++)
		if (is_mine(note_at(script, i)))
			return true;
	return false;
}

__thread const void *turn_entry;

bool turn_interrupts_entry(const void *frame)
{
	return turn_entry && !is_left((unsigned long)turn_entry, frame);
}

void turn_fork_child(struct script *script)
{
	const unsigned long tid = ((1UL << NOTE_TID_BITS) - 1) << NOTE_TID_SHIFT;

	for (unsigned int i = 0; i < TURN_SLOTS; i++) {
		unsigned long note = script->slots[i];

		script->slots[i] = is_mine(note) ? (note & ~tid) |
			(unsigned long)sys_call(getpid) << NOTE_TID_SHIFT : 0;
	}
}
