// SPDX-License-Identifier: GPL-2.0
/*
 * Hoists checks that a loop would repeat, so that they are made once before it:
 *
 *   of the same bytes each time, if the loop always makes them;
 *   of bytes that move by a constant step, if the loop has only one exit, so that all of them will
 *   be accessed.
 */
#include "check.h"
#include "flow.h"

/* No object is as long. */
#define LONGEST	(HOST_WIDE_INT_1 << 47)

static bool loop_frees(const class loop *loop)
{
	basic_block *blocks = get_loop_body(loop);
	bool frees = false;

	for (unsigned int i = 0; i < loop->num_nodes; i++)
		for (auto gsi = gsi_start_bb(blocks[i]); !gsi_end_p(gsi); gsi_next(&gsi))
			frees |= may_free(gsi_stmt(gsi));
	free(blocks);
	return frees;
}

static bool defined_in(const class loop *loop, tree name)
{
	return TREE_CODE(name) == SSA_NAME && gimple_bb(SSA_NAME_DEF_STMT(name)) &&
	       flow_bb_inside_loop_p(loop, gimple_bb(SSA_NAME_DEF_STMT(name)));
}

static basic_block block_of(const struct check *check)
{
	return check->end_of ? check->end_of : gimple_bb(check->stmt);
}

static bool is_access(const struct check *check)
{
	return !check->gone && !check->hoisted && !(check->parts[0].flags & KGCC_ARITH);
}

static struct check *before_loop(const class loop *loop, const struct check *check)
{
	struct check *hoisted = new struct check();

	hoisted->end_of = loop_preheader_edge(loop)->src;
	hoisted->root = check->root;
	hoisted->lo = check->lo;
	hoisted->hi = check->hi;
	hoisted->parts.safe_splice(check->parts);
	return hoisted;
}

/* -- the same bytes --------------------------------------------------------------- */

static void hoist_same(const class loop *loop, flow &certain, vec<struct check *> &checks,
		       unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		struct check *check = checks[i];

		if (!is_access(check) || check->addr || check->length ||
		    !flow_bb_inside_loop_p(loop, block_of(check)) ||
		    defined_in(loop, check->root) || !certain.certain_at(loop->header, i))
			continue;
		checks.safe_push(before_loop(loop, check));
		check->hoisted = true;
	}
}

/* -- bytes that move --------------------------------------------------------------- */

/* The number of iterations, or NULL if it is not known before the loop. */
static tree iterations(class loop *loop, basic_block *last)
{
	class tree_niter_desc desc;
	edge exit = single_exit(loop);

	if (!exit || !number_of_iterations_exit(loop, exit, &desc, false) ||
	    !integer_zerop(desc.may_be_zero) || chrec_contains_undetermined(desc.niter))
		return NULL_TREE;
	*last = exit->src;
	return fold_convert(sizetype, desc.niter);
}

/* Bytes from the first access to the last; at least LONGEST on overflow. */
static tree span_of(tree again, HOST_WIDE_INT step)
{
	again = fold_build2(MIN_EXPR, sizetype, again, size_int(LONGEST / MAX(step, 1) + 1));
	return fold_build2(MULT_EXPR, sizetype, again, size_int(step));
}

static void hoist_moving_check(class loop *loop, tree again, struct check *check,
			       vec<struct check *> &checks)
{
	edge entry = loop_preheader_edge(loop);
	struct check *hoisted;
	gimple_seq seq = NULL;
	affine_iv iv;
	tree span, base;
	HOST_WIDE_INT step;

	if (!simple_iv(loop, loop, check->addr, &iv, false) || !tree_fits_shwi_p(iv.step))
		return;
	step = tree_to_shwi(iv.step);
	if (step == HOST_WIDE_INT_MIN)
		return;
	span = span_of(again, step < 0 ? -step : step);
	base = unshare_expr(iv.base);
	if (step < 0)
		base = fold_build_pointer_plus(base, fold_build1(NEGATE_EXPR, sizetype, span));
	hoisted = before_loop(loop, check);
	hoisted->addr = force_gimple_operand(unshare_expr(base), &seq, true, NULL_TREE);
	gsi_insert_seq_on_edge_immediate(entry, seq);
	seq = NULL;
	span = fold_build2(PLUS_EXPR, sizetype, span, size_int(check->hi - check->lo));
	hoisted->length = force_gimple_operand(unshare_expr(span), &seq, true, NULL_TREE);
	if (seq)
		gsi_insert_seq_on_edge_immediate(entry, seq);
	hoisted->hi = hoisted->lo;
	hoisted->end_of = loop_preheader_edge(loop)->src;
	checks.safe_push(hoisted);
	check->hoisted = check->gone = true;
	totals.hoisted++;
}

static void hoist_moving(class loop *loop, vec<struct check *> &checks, unsigned int n)
{
	basic_block last = NULL;
	tree again = iterations(loop, &last);

	if (!again)
		return;
	for (unsigned int i = 0; i < n; i++) {
		struct check *check = checks[i];

		if (is_access(check) && check->addr && !check->length &&
		    TREE_CODE(check->addr) == SSA_NAME && defined_in(loop, check->addr) &&
		    block_of(check)->loop_father == loop && !defined_in(loop, check->root) &&
		    dominated_by_p(CDI_DOMINATORS, last, block_of(check)))
			hoist_moving_check(loop, again, check, checks);
	}
}

void hoist_checks(function *fun, vec<struct check *> &checks)
{
	unsigned int n = checks.length();
	flow certain(fun, checks);

	certain.solve_certain();
	for (auto loop : loops_list(fun, 0)) {
		if (loop_frees(loop))
			continue;
		hoist_same(loop, certain, checks, n);
		hoist_moving(loop, checks, n);
	}
}
