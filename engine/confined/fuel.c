// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Where an image pays fuel (machine.h), and how much: checked.charges.
 *
 * Let what is ahead of an instruction be at least its own cost and what is ahead of
 * each instruction that it may go on to without a charge in between.  The proof that
 * nothing is spent that has not been paid is that what a function has paid is always
 * at least what it has spent and what is ahead of it:
 *
 *   - when it begins, it pays what is ahead of its first instruction;
 *   - going forward, what is ahead becomes less by at least what is spent;
 *   - a jump backward pays what is ahead of its target and not of itself; but one to
 *     where the function ends, around which there is no loop, has that ahead as forward;
 *   - where more than MACHINE_STRETCH would be ahead, an instruction pays all of it
 *     and nothing is ahead of those before it;
 *   - a call of functions that may call others pays anew, when it has returned, what
 *     is ahead of the next instruction: else as much would be paid long ago as
 *     functions can wait for one another to return.
 *
 * So when fuel runs out, what has been paid and not spent belongs to the function that
 * runs, and to the one that called it if it calls no other: twice MACHINE_STRETCH.
 *
 * What is ahead is the longest path, not all that lies there, for the sake of loops
 * around a large switch.  That of a jump backward includes what is ahead of the loop's
 * end, so that code after a loop is not paid for repeatedly.
 */
#include "check.h"
#include "machine.h"

struct fuel {
	struct checked *checked;
	u16 *ahead;		/* until it is known: that of the code after the loop, and 1 */
	u32 start, end;		/* the current function */
};

static u32 fuel_cost(const struct image_insn *insn)
{
	switch (INSN_CLASS(insn->code)) {
	case INSN_LDX: case INSN_ST:
		return MACHINE_COST_ACCESS;
	case INSN_STX:
		return INSN_MODE(insn->code) == INSN_ATOMIC ? MACHINE_COST_ATOMIC :
							      MACHINE_COST_ACCESS;
	case INSN_JMP: case INSN_JMP32:
		return INSN_OP(insn->code) == INSN_CALL ? MACHINE_COST_ACCESS :
							  MACHINE_COST_JUMP;
	}
	return MACHINE_COST;
}

bool image_call_is_deep(const struct checked *checked, u32 pc)
{
	const struct image_insn *insn = &checked->insns[pc];

	if (insn->code & INSN_X)
		return true;
	if (insn->src == INSN_LOCAL)
		return checked->traits[image_func_at(checked, pc + 1 + insn->imm)] &
		       TRAIT_CALLS;
	return insn->src == INSN_BASE || insn->imm == IMAGE_CALL_TRY;
}

static u32 target_of(const struct fuel *fuel, u32 pc)
{
	return pc + 1 + insn_jump_offset(&fuel->checked->insns[pc]);
}

static bool jumps_to_end(const struct fuel *fuel, u32 pc)
{
	return fuel->checked->insns[target_of(fuel, pc)].code == (INSN_JMP | INSN_EXIT);
}

static bool jumps_back(const struct fuel *fuel, u32 pc)
{
	return insn_is_jump(&fuel->checked->insns[pc]) && target_of(fuel, pc) <= pc &&
	       !jumps_to_end(fuel, pc);
}

/* Fuel ahead of the instruction after @pc. */
static u32 ahead_of_next(const struct fuel *fuel, u32 pc)
{
	return pc + 1 < fuel->end ? fuel->ahead[pc + 1] : 0;
}

/* Loops are searched from their last backward jump. */
static u32 ahead_of_loop_end(struct fuel *fuel, u32 pc)
{
	u16 *start = &fuel->ahead[target_of(fuel, pc)];

	if (!*start)
		*start = ahead_of_next(fuel, pc) + 1;
	return *start - 1;
}

static u32 ahead_of_jump(struct fuel *fuel, u32 pc)
{
	const struct image_insn *insn = &fuel->checked->insns[pc];
	u32 next = INSN_OP(insn->code) == INSN_JA ? 0 : ahead_of_next(fuel, pc);
	u32 there;

	if (jumps_to_end(fuel, pc))
		there = MACHINE_COST_JUMP;
	else if (jumps_back(fuel, pc))
		there = ahead_of_loop_end(fuel, pc);
	else
		there = fuel->ahead[target_of(fuel, pc)];
	return fuel_cost(insn) + (next > there ? next : there);
}

static u32 ahead_of(struct fuel *fuel, u32 pc)
{
	const struct image_insn *insn = &fuel->checked->insns[pc];

	if (fuel->checked->marks[pc] & MARK_SECOND)
		return ahead_of_next(fuel, pc);
	if (insn_is_jump(insn))
		return ahead_of_jump(fuel, pc);
	if (insn->code == (INSN_JMP | INSN_EXIT))
		return fuel_cost(insn);
	if (!image_calls_deep(fuel->checked, pc))
		return fuel_cost(insn) + ahead_of_next(fuel, pc);
	fuel->checked->charges[pc] = ahead_of_next(fuel, pc);
	return fuel_cost(insn);
}

/* Also true, earlier, where a loop has just ended, so that the charge is outside of it. */
static bool is_far(const struct fuel *fuel, u32 pc, u32 ahead)
{
	if (pc == fuel->start)
		return false;
	return ahead > MACHINE_STRETCH - MACHINE_COST_ATOMIC ||
	       (ahead > MACHINE_STRETCH / 4 && jumps_back(fuel, pc - 1));
}

static void look_ahead(struct fuel *fuel)
{
	u32 pc, ahead;

	for (pc = fuel->end; pc-- > fuel->start;) {
		image_pause(pc);
		ahead = ahead_of(fuel, pc);
		if (is_far(fuel, pc, ahead)) {
			fuel->checked->charges[pc] = ahead;
			ahead = 0;
		}
		fuel->ahead[pc] = ahead;
	}
}

static void charge_loops(struct fuel *fuel)
{
	u32 pc, paid, want;

	for (pc = fuel->start; pc < fuel->end; pc++) {
		image_pause(pc);
		if (!jumps_back(fuel, pc))
			continue;
		paid = fuel->checked->charges[pc] ?: fuel->ahead[pc];
		want = fuel_cost(&fuel->checked->insns[pc]) + fuel->ahead[target_of(fuel, pc)];
		if (want > paid)
			fuel->checked->charges[pc] += want - paid;
	}
}

int image_charge(struct checked *checked)
{
	const struct image_header *im = checked->image;
	struct fuel fuel = { .checked = checked };
	u32 i;

	fuel.ahead = checked->ahead = image_alloc(im->ninsns * sizeof(u16));
	checked->charges = image_alloc((im->ninsns + im->nfuncs) * sizeof(u16));
	if (fuel.ahead && checked->charges)
		for (i = 0; i < im->nfuncs; i++) {
			fuel.start = checked->funcs[i].start;
			fuel.end = image_func_end(checked, i);
			look_ahead(&fuel);
			charge_loops(&fuel);
			checked->charges[im->ninsns + i] = fuel.ahead[fuel.start];
		}
	return fuel.ahead && checked->charges ? 0 : -ENOMEM;
}
