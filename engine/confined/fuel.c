// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Decides where an image pays fuel (machine.h), and how much: checked.charges.
 *
 * Define the cost ahead of an instruction: at least its own cost plus the cost ahead of any
 * successor that is reached without a charge. Fuel is paid before it is spent, because a function
 * has always paid at least what it has spent plus the cost ahead:
 *
 *   - at its beginning, it pays the cost ahead of its first instruction;
 *   - each step forward reduces the cost ahead by at least what the step spends;
 *   - a backward jump pays the cost ahead of its target, which is not ahead of the jump itself;
 *     except a jump to the function's end, around which there is no loop, which counts as a
 *     forward jump;
 *   - an instruction to which several backward jumps lead pays instead of them, if any but the
 *     last is conditional, as it may be passed many times without jumping;
 *   - where the cost ahead would exceed MACHINE_STRETCH, an instruction pays all of it, and
 *     nothing is ahead of the instructions before;
 *   - after a call of a function that may call others, the cost ahead of the next instruction is
 *     paid again: otherwise each waiting caller would hold fuel that it paid long ago.
 *
 * So when fuel runs out, at most twice MACHINE_STRETCH is paid and not spent: by the running
 * function and, if it is a leaf, by its caller.
 *
 * The cost ahead is that of the longest path, not of all code, so that loops around a large
 * switch stay cheap. For a backward jump it includes the cost ahead of the loop's end, so that
 * code after a loop is not paid for in each iteration.
 */
#include "validate_image.h"
#include "machine.h"

/*
 * Until an instruction's cost ahead is known, @ahead has the cost of the code after the loop that
 * begins there, plus 1; and checked.charges is not 0 if it is to pay for backward jumps.
 */
struct fuel {
	struct checked *checked;
	u16 *ahead;
	u32 start, end;		/* instructions of the current function */
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

/* The cost ahead of the instruction after @pc. */
static u32 ahead_of_next(const struct fuel *fuel, u32 pc)
{
	return pc + 1 < fuel->end ? fuel->ahead[pc + 1] : 0;
}

/* Searches a loop from its last backward jump. */
static u32 ahead_of_loop_end(struct fuel *fuel, u32 pc)
{
	u32 to = target_of(fuel, pc);

	if (!fuel->ahead[to])
		fuel->ahead[to] = ahead_of_next(fuel, pc) + 1;
	else if (to < pc && INSN_OP(fuel->checked->insns[pc].code) != INSN_JA)
		fuel->checked->charges[to] = !image_calls_deep(fuel->checked, to);
	return fuel->ahead[to] - 1;
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

/* Also true, earlier, right after a loop, so that the charge is outside of the loop. */
static bool is_far(const struct fuel *fuel, u32 pc, u32 ahead)
{
	if (pc == fuel->start)
		return false;
	return ahead > MACHINE_STRETCH - MACHINE_COST_ATOMIC ||
	       (ahead > MACHINE_STRETCH / 4 && jumps_back(fuel, pc - 1));
}

static void look_ahead(struct fuel *fuel)
{
	u16 *charges = fuel->checked->charges;
	u32 pc, ahead, most;

	for (pc = fuel->end; pc-- > fuel->start;) {
		image_pause(pc);
		most = charges[pc] ? fuel->ahead[pc] - 1 : MACHINE_STRETCH;
		charges[pc] = 0;
		ahead = ahead_of(fuel, pc);
		if (is_far(fuel, pc, ahead))
			most = 0;
		if (ahead > most) {
			charges[pc] = ahead - most;
			ahead = most;
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
		paid = fuel->checked->charges[pc] + fuel->ahead[pc];
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
			/* Never 0, which would leave the function's beginning unpaid. */
			checked->charges[im->ninsns + i] =
				fuel.ahead[fuel.start] ?: MACHINE_COST;
		}
	return fuel.ahead && checked->charges ? 0 : -ENOMEM;
}
