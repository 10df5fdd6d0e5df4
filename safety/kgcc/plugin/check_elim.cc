// SPDX-License-Identifier: GPL-2.0
/*
 * Eliminates checks. A check establishes a fact: bytes LO to HI from a root are within its object.
 * Facts hold until something may free the object.
 *
 *   available: established on every path to here: no need to check again
 *   certain:   will be checked on every path from here: one check can establish both
 *
 * Both are standard dataflow problems, over sets of facts.
 */
#include "check.h"
#include "flow.h"

/* The most parts of other checks that one report can name. */
#define PARTS 16

static bool is_arith(const struct check *check)
{
	return check->parts[0].flags & KGCC_ARITH;
}

static bool same_expression(tree a, tree b)
{
	return a == b || (a && b && operand_equal_p(a, b));
}

static bool same_base(const struct check *a, const struct check *b)
{
	return same_root(a->root, b->root) && same_expression(a->addr, b->addr) &&
	       same_expression(a->length, b->length);
}

/* An out-of-bounds pointer is not an error by itself, so its check establishes nothing. */
static bool shows(const struct check *check, const struct check *fact)
{
	return same_base(check, fact) && check->lo <= fact->lo && check->hi >= fact->hi &&
	       (!is_arith(check) || is_arith(fact));
}

/* -- the sets ------------------------------------------------------------------ */

flow::flow(function *f, vec<struct check *> &all) : fun(f), checks(all)
{
	for (unsigned int i = 0; i < checks.length(); i++)
		if (!checks[i]->gone)
			place(i);
	n = checks.length();
	blocks = last_basic_block_for_fn(fun);
	shown = sbitmap_vector_alloc(MAX(n, 1), MAX(n, 1));
	bitmap_vector_clear(shown, MAX(n, 1));
	in = sbitmap_vector_alloc(blocks, MAX(n, 1));
	out = sbitmap_vector_alloc(blocks, MAX(n, 1));
	for (unsigned int i = 0; i < n; i++)
		note(i);
}

flow::~flow()
{
	sbitmap_vector_free(shown);
	sbitmap_vector_free(in);
	sbitmap_vector_free(out);
	for (auto entry : at)
		delete entry.second;
	for (auto entry : depends)
		delete entry.second;
}

void flow::place(unsigned int i)
{
	void *key = checks[i]->end_of ? (void *)checks[i]->end_of : (void *)checks[i]->stmt;
	auto_vec<unsigned int> *&list = at.get_or_insert(key);

	if (!list)
		list = new auto_vec<unsigned int>();
	list->safe_push(i);
}

static tree find_names(tree *expression, int *, void *data)
{
	if (TREE_CODE(*expression) == SSA_NAME)
		((vec<tree> *)data)->safe_push(*expression);
	return NULL_TREE;
}

/* Records what a check establishes, and the names in it. */
void flow::note(unsigned int i)
{
	struct check *check = checks[i];
	auto_vec<tree> names;

	facts.safe_push({ check->lo, check->hi, check->parts[0].where, check->parts[0].flags });
	for (unsigned int j = 0; j < n; j++)
		if (shows(check, checks[j]))
			bitmap_set_bit(shown[i], j);
	if (TREE_CODE(check->root) == SSA_NAME)
		names.safe_push(check->root);
	if (check->addr)
		walk_tree(&check->addr, find_names, &names, NULL);
	if (check->length)
		walk_tree(&check->length, find_names, &names, NULL);
	for (tree name : names) {
		auto_vec<unsigned int> *&list = depends.get_or_insert(name);

		if (!list)
			list = new auto_vec<unsigned int>();
		list->safe_push(i);
	}
}

void flow::forget(sbitmap set, tree name)
{
	auto_vec<unsigned int> **list = name ? depends.get(name) : NULL;

	if (list)
		for (unsigned int i : **list)
			bitmap_clear_bit(set, i);
}

void flow::forget_results(sbitmap set, gimple *stmt)
{
	ssa_op_iter iterator;
	tree name;

	if (gimple_code(stmt) == GIMPLE_PHI) {
		forget(set, gimple_phi_result(stmt));
		return;
	}
	FOR_EACH_SSA_TREE_OPERAND(name, stmt, iterator, SSA_OP_DEF)
		forget(set, name);
}

/* An allocation of constant size establishes its own bounds. */
void flow::allocate(sbitmap set, gimple *stmt)
{
	HOST_WIDE_INT size;
	tree result = is_gimple_call(stmt) ? gimple_call_lhs(stmt) : NULL_TREE;
	auto_vec<unsigned int> **list = result ? depends.get(result) : NULL;

	if (!list || !allocates(as_a<gcall *>(stmt), &size))
		return;
	for (unsigned int i : **list) {
		struct check *check = checks[i];

		if (check->root == result && !check->addr && !check->length &&
		    check->lo >= 0 && check->hi <= size)
			bitmap_set_bit(set, i);
	}
}

template <typename Visit> void flow::each_at(void *key, bool after, Visit visit)
{
	auto_vec<unsigned int> **list = at.get(key);

	if (list)
		for (unsigned int i : **list)
			if (!checks[i]->gone && checks[i]->after == after)
				visit(i);
}

/* -- available ------------------------------------------------------------------ */

template <typename Visit> void flow::forward(basic_block bb, sbitmap set, Visit visit)
{
	auto show = [&](unsigned int i) {
		visit(i, set);
		bitmap_ior(set, set, shown[i]);
	};

	for (auto gsi = gsi_start_phis(bb); !gsi_end_p(gsi); gsi_next(&gsi))
		forget_results(set, gsi_stmt(gsi));
	for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
		gimple *stmt = gsi_stmt(gsi);

		each_at(stmt, false, show);
		if (may_free(stmt))
			bitmap_clear(set);
		forget_results(set, stmt);
		allocate(set, stmt);
		each_at(stmt, true, show);
	}
	each_at(bb, false, show);
}

void flow::solve_available()
{
	auto_vec<int> order;
	auto_sbitmap set(MAX(n, 1));
	bool changed = true;
	int count;

	order.safe_grow(n_basic_blocks_for_fn(fun));
	count = pre_and_rev_post_order_compute_fn(fun, NULL, order.address(), false);
	bitmap_vector_ones(out, blocks);
	while (changed) {
		changed = false;
		for (int k = 0; k < count; k++) {
			basic_block bb = BASIC_BLOCK_FOR_FN(fun, order[k]);

			meet_before(bb);
			bitmap_copy(set, in[bb->index]);
			forward(bb, set, [](unsigned int, sbitmap) {});
			if (!bitmap_equal_p(set, out[bb->index])) {
				bitmap_copy(out[bb->index], set);
				changed = true;
			}
		}
	}
}

void flow::meet_before(basic_block bb)
{
	edge_iterator iterator;
	edge e;

	bitmap_ones(in[bb->index]);
	FOR_EACH_EDGE(e, iterator, bb->preds) {
		if (e->src == ENTRY_BLOCK_PTR_FOR_FN(fun))
			bitmap_clear(in[bb->index]);
		else
			bitmap_and(in[bb->index], in[bb->index], out[e->src->index]);
	}
}

/* Drops checks of available facts; returns their number. */
unsigned int flow::drop_available()
{
	auto_sbitmap set(MAX(n, 1));
	unsigned int dropped = 0;
	basic_block bb;

	solve_available();
	FOR_EACH_BB_FN(bb, fun) {
		bitmap_copy(set, in[bb->index]);
		forward(bb, set, [&](unsigned int i, sbitmap before) {
			if (bitmap_bit_p(before, i)) {
				checks[i]->gone = true;
				dropped++;
			}
		});
	}
	return dropped;
}

/* -- certain -------------------------------------------------------------------- */

template <typename Visit> void flow::backward(basic_block bb, sbitmap set, Visit visit)
{
	auto show = [&](unsigned int i) {
		visit(i, set);
		bitmap_ior(set, set, shown[i]);
	};

	each_at(bb, false, show);
	for (auto gsi = gsi_last_bb(bb); !gsi_end_p(gsi); gsi_prev(&gsi)) {
		gimple *stmt = gsi_stmt(gsi);

		each_at(stmt, true, show);
		if (may_free(stmt))
			bitmap_clear(set);
		forget_results(set, stmt);
		each_at(stmt, false, show);
	}
	for (auto gsi = gsi_start_phis(bb); !gsi_end_p(gsi); gsi_next(&gsi))
		forget_results(set, gsi_stmt(gsi));
}

/* Functions that do not return because the kernel is to stop. */
static const char *const crashes[] = {
	"panic", "nmi_panic", "fortify_panic", "__fortify_panic", "__stack_chk_fail",
	"usercopy_abort",
};

/* Whether a block's end ends only the task: kthread_complete_and_exit(). */
static bool ends_task(basic_block bb)
{
	gimple *last = last_statement(bb);
	tree callee;

	if (!last || !is_gimple_call(last) || gimple_call_internal_p(last))
		return false;
	callee = gimple_call_fndecl(last);
	if (callee && fndecl_built_in_p(callee))
		return false;
	for (const char *name : crashes)
		if (callee && DECL_NAME(callee) && id_equal(DECL_NAME(callee), name))
			return false;
	return true;
}

/* Paths that end in a crash do not count, infinite paths do. */
void flow::meet_after(basic_block bb)
{
	edge_iterator iterator;
	edge e;

	bitmap_ones(out[bb->index]);
	if (!EDGE_COUNT(bb->succs)) {
		if (ends_task(bb))
			bitmap_clear(out[bb->index]);
		return;
	}
	FOR_EACH_EDGE(e, iterator, bb->succs) {
		if (e->dest == EXIT_BLOCK_PTR_FOR_FN(fun))
			bitmap_clear(out[bb->index]);
		else
			bitmap_and(out[bb->index], out[bb->index], in[e->dest->index]);
	}
}

/* Blocks from which no exit can be reached, neither a return nor a crash. */
void flow::find_endless(sbitmap endless)
{
	auto_vec<basic_block> todo;
	edge_iterator iterator;
	basic_block bb;
	edge e;

	bitmap_ones(endless);
	todo.safe_push(EXIT_BLOCK_PTR_FOR_FN(fun));
	FOR_EACH_BB_FN(bb, fun)
		if (!EDGE_COUNT(bb->succs))
			todo.safe_push(bb);
	while (!todo.is_empty()) {
		bb = todo.pop();
		if (!bitmap_bit_p(endless, bb->index))
			continue;
		bitmap_clear_bit(endless, bb->index);
		FOR_EACH_EDGE(e, iterator, bb->preds)
			todo.safe_push(e->src);
	}
}

void flow::solve_certain()
{
	auto_vec<int> order;
	auto_sbitmap set(MAX(n, 1)), endless(blocks);
	bool changed = true;
	int count;

	find_endless(endless);
	order.safe_grow(n_basic_blocks_for_fn(fun));
	count = pre_and_rev_post_order_compute_fn(fun, NULL, order.address(), false);
	bitmap_vector_ones(in, blocks);
	while (changed) {
		changed = false;
		for (int k = count - 1; k >= 0; k--) {
			basic_block bb = BASIC_BLOCK_FOR_FN(fun, order[k]);

			meet_after(bb);
			if (bitmap_bit_p(endless, bb->index))
				bitmap_clear(out[bb->index]);
			bitmap_copy(set, out[bb->index]);
			backward(bb, set, [](unsigned int, sbitmap) {});
			if (!bitmap_equal_p(set, in[bb->index])) {
				bitmap_copy(in[bb->index], set);
				changed = true;
			}
		}
	}
}

/* A report about a variable names one access only. */
static bool can_widen(const struct check *check)
{
	return !check->length && !is_arith(check) &&
	       (!check->addr || size_of_object(check->root) < 0);
}

/*
 * Widens a check by what is certain to be checked later. Use facts, not checks: another path may
 * hold the check of a fact, and that check may have been widened by what follows there.
 */
void flow::widen(unsigned int i, sbitmap later)
{
	struct check *check = checks[i];
	unsigned int j;
	sbitmap_iterator iterator;

	EXECUTE_IF_SET_IN_BITMAP(later, 0, j, iterator) {
		const struct check *other = checks[j];

		if (j == i || other->gone || is_arith(other) || !same_base(check, other))
			continue;
		check->lo = MIN(check->lo, facts[j].lo);
		check->hi = MAX(check->hi, facts[j].hi);
		if (check->parts.length() < PARTS)
			check->parts.safe_push(facts[j]);
	}
}

/* A pointer that is certainly dereferenced later is checked then. */
bool flow::dereferenced(unsigned int i, sbitmap later)
{
	unsigned int j;
	sbitmap_iterator iterator;

	EXECUTE_IF_SET_IN_BITMAP(later, 0, j, iterator)
		if (!checks[j]->gone && !is_arith(checks[j]) && bitmap_bit_p(shown[j], i))
			return true;
	return false;
}

unsigned int flow::merge_certain()
{
	auto_sbitmap set(MAX(n, 1));
	unsigned int dropped = 0;
	basic_block bb;

	solve_certain();
	FOR_EACH_BB_FN(bb, fun) {
		bitmap_copy(set, out[bb->index]);
		backward(bb, set, [&](unsigned int i, sbitmap later) {
			if (can_widen(checks[i])) {
				widen(i, later);
			} else if (is_arith(checks[i]) && dereferenced(i, later)) {
				checks[i]->gone = true;
				dropped++;
			}
		});
	}
	return dropped;
}

bool flow::certain_at(basic_block bb, unsigned int i)
{
	return bitmap_bit_p(in[bb->index], i);
}

/* -- all of it ------------------------------------------------------------------ */

void reduce_checks(function *fun, vec<struct check *> &checks)
{
	totals.covered += flow(fun, checks).drop_available();
	totals.merged += flow(fun, checks).merge_certain();
	totals.merged += flow(fun, checks).drop_available();
	hoist_checks(fun, checks);
	totals.hoisted += flow(fun, checks).drop_available();
}
