// SPDX-License-Identifier: GPL-2.0
/*
 * Several checks of one root look its object up once.  A lookup leaves the object's room,
 * the bytes from the root to its end, in a variable; later checks compare with that, and
 * look the object up only if their bytes are not within, or if nothing is known: then the
 * room is 0.  It is 0 at first, and again where the object may have been freed.
 *
 * The room is known on some paths only, as other facts are, but need not be on all.
 */
#include "check.h"

namespace {

class rooms {
public:
	rooms(function *fun, vec<struct check *> &checks);
	~rooms();
	void share();

private:
	function *fun;
	vec<struct check *> &checks;
	hash_map<tree, unsigned int> numbers;			/* of roots */
	auto_vec<tree> roots, variables;			/* by number */
	hash_map<void *, auto_vec<struct check *> *> at;	/* by statement or block */
	sbitmap *in, *out;

	unsigned int *number_of(tree name);
	void place(struct check *check);
	void solve_known();
	void solve_wanted();
	void choose();
	void clear_after(gimple *stmt, tree variable);
	void clear_all();
	template <typename Visit> void each_at(void *key, bool after, Visit visit);
	template <typename Visit, typename Free>
	void forward(basic_block bb, sbitmap set, Visit visit, Free frees);
	template <typename Visit> void backward(basic_block bb, sbitmap set, Visit visit);
};

}

/* Whether a check looks up what its root points into, once that is there. */
static bool is_lookup(const struct check *check)
{
	tree root = check->root;
	gimple *def;

	if (check->gone || TREE_CODE(root) != SSA_NAME || !POINTER_TYPE_P(TREE_TYPE(root)) ||
	    SSA_NAME_OCCURS_IN_ABNORMAL_PHI(root) || is_of_page(root))
		return false;
	def = SSA_NAME_DEF_STMT(root);
	return gimple_code(def) == GIMPLE_NOP || gimple_code(def) == GIMPLE_PHI ||
	       !stmt_ends_bb_p(def);
}

/* The room starts at the root. */
static bool can_compare(const struct check *check)
{
	return check->addr || check->lo >= 0;
}

rooms::rooms(function *f, vec<struct check *> &all) : fun(f), checks(all)
{
	for (struct check *check : checks)
		if (is_lookup(check))
			place(check);
	in = sbitmap_vector_alloc(last_basic_block_for_fn(fun), MAX(roots.length(), 1));
	out = sbitmap_vector_alloc(last_basic_block_for_fn(fun), MAX(roots.length(), 1));
}

rooms::~rooms()
{
	sbitmap_vector_free(in);
	sbitmap_vector_free(out);
	for (auto entry : at)
		delete entry.second;
}

void rooms::place(struct check *check)
{
	void *key = check->end_of ? (void *)check->end_of : (void *)check->stmt;
	auto_vec<struct check *> *&list = at.get_or_insert(key);
	bool known;
	unsigned int &number = numbers.get_or_insert(check->root, &known);

	if (!known) {
		number = roots.length();
		roots.safe_push(check->root);
		variables.safe_push(NULL_TREE);
	}
	if (!list)
		list = new auto_vec<struct check *>();
	list->safe_push(check);
}

/* NULL where it is no root. */
unsigned int *rooms::number_of(tree name)
{
	return name && TREE_CODE(name) == SSA_NAME ? numbers.get(name) : NULL;
}

template <typename Visit> void rooms::each_at(void *key, bool after, Visit visit)
{
	auto_vec<struct check *> **list = at.get(key);

	if (list)
		for (struct check *check : **list)
			if (check->after == after)
				visit(check);
}

/* In the order in which checks are executed. */
template <typename Visit, typename Free>
void rooms::forward(basic_block bb, sbitmap set, Visit visit, Free frees)
{
	auto look = [&](struct check *check) {
		visit(check, *number_of(check->root));
		bitmap_set_bit(set, *number_of(check->root));
	};
	auto forget = [&](tree name) {
		if (number_of(name))
			bitmap_clear_bit(set, *number_of(name));
	};
	ssa_op_iter iterator;
	tree name;

	for (auto gsi = gsi_start_phis(bb); !gsi_end_p(gsi); gsi_next(&gsi))
		forget(gimple_phi_result(gsi_stmt(gsi)));
	for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
		gimple *stmt = gsi_stmt(gsi);

		each_at(stmt, false, look);
		if (may_free(stmt)) {
			frees(stmt, set);
			bitmap_clear(set);
		}
		FOR_EACH_SSA_TREE_OPERAND(name, stmt, iterator, SSA_OP_DEF)
			forget(name);
		each_at(stmt, true, look);
	}
	each_at(bb, false, look);
}

/* The other way; a check that compares wants its root's room. */
template <typename Visit> void rooms::backward(basic_block bb, sbitmap set, Visit visit)
{
	auto look = [&](struct check *check) {
		visit(check, *number_of(check->root));
		if (check->compares)
			bitmap_set_bit(set, *number_of(check->root));
	};
	auto forget = [&](tree name) {
		if (number_of(name))
			bitmap_clear_bit(set, *number_of(name));
	};
	ssa_op_iter iterator;
	tree name;

	each_at(bb, false, look);
	for (auto gsi = gsi_last_bb(bb); !gsi_end_p(gsi); gsi_prev(&gsi)) {
		gimple *stmt = gsi_stmt(gsi);

		each_at(stmt, true, look);
		if (may_free(stmt))
			bitmap_clear(set);
		FOR_EACH_SSA_TREE_OPERAND(name, stmt, iterator, SSA_OP_DEF)
			forget(name);
		each_at(stmt, false, look);
	}
	for (auto gsi = gsi_start_phis(bb); !gsi_end_p(gsi); gsi_next(&gsi))
		forget(gimple_phi_result(gsi_stmt(gsi)));
}

/* At the start of each block: the roots whose room is known, on one path at least. */
void rooms::solve_known()
{
	auto_sbitmap set(MAX(roots.length(), 1));
	bool changed = true;
	edge_iterator iterator;
	basic_block bb;
	edge e;

	bitmap_vector_clear(in, last_basic_block_for_fn(fun));
	bitmap_vector_clear(out, last_basic_block_for_fn(fun));
	while (changed) {
		changed = false;
		FOR_EACH_BB_FN(bb, fun) {
			FOR_EACH_EDGE(e, iterator, bb->preds)
				bitmap_ior(in[bb->index], in[bb->index], out[e->src->index]);
			bitmap_copy(set, in[bb->index]);
			forward(bb, set, [](struct check *, unsigned int) {},
				[](gimple *, sbitmap) {});
			changed |= !bitmap_equal_p(set, out[bb->index]);
			bitmap_copy(out[bb->index], set);
		}
	}
}

/* At the end of each block: the roots whose room is compared with, on some path. */
void rooms::solve_wanted()
{
	auto_sbitmap set(MAX(roots.length(), 1));
	bool changed = true;
	edge_iterator iterator;
	basic_block bb;
	edge e;

	bitmap_vector_clear(in, last_basic_block_for_fn(fun));
	bitmap_vector_clear(out, last_basic_block_for_fn(fun));
	while (changed) {
		changed = false;
		FOR_EACH_BB_REVERSE_FN(bb, fun) {
			FOR_EACH_EDGE(e, iterator, bb->succs)
				bitmap_ior(out[bb->index], out[bb->index], in[e->dest->index]);
			bitmap_copy(set, out[bb->index]);
			backward(bb, set, [](struct check *, unsigned int) {});
			changed |= !bitmap_equal_p(set, in[bb->index]);
			bitmap_copy(in[bb->index], set);
		}
	}
}

/* Which checks compare; and of those that look up, which are to leave what they find. */
void rooms::choose()
{
	auto_sbitmap set(MAX(roots.length(), 1));
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun) {
		bitmap_copy(set, in[bb->index]);
		forward(bb, set, [&](struct check *check, unsigned int root) {
			check->compares = can_compare(check) && bitmap_bit_p(set, root);
			if (check->compares && !variables[root])
				variables[root] = create_tmp_reg(long_unsigned_type_node, "room");
		}, [](gimple *, sbitmap) {});
	}
	solve_wanted();
	FOR_EACH_BB_FN(bb, fun) {
		bitmap_copy(set, out[bb->index]);
		backward(bb, set, [&](struct check *check, unsigned int root) {
			if (check->compares || bitmap_bit_p(set, root))
				check->room = variables[root];
		});
	}
}

/* What a statement gives, or leaves, is not known. */
void rooms::clear_after(gimple *stmt, tree variable)
{
	gimple *clear = gimple_build_assign(variable, build_zero_cst(TREE_TYPE(variable)));
	gimple_stmt_iterator gsi;

	switch (gimple_code(stmt)) {
	case GIMPLE_NOP:
		gsi_insert_on_edge_immediate(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun)), clear);
		break;
	case GIMPLE_PHI:
		gsi = gsi_after_labels(gimple_bb(stmt));
		gsi_insert_before(&gsi, clear, GSI_NEW_STMT);
		break;
	default:
		gsi = gsi_for_stmt(stmt);
		gsi_insert_after(&gsi, clear, GSI_NEW_STMT);
	}
}

void rooms::clear_all()
{
	auto_vec<std::pair<gimple *, unsigned int>> freed;
	auto_sbitmap set(MAX(roots.length(), 1));
	basic_block bb;

	solve_known();
	FOR_EACH_BB_FN(bb, fun) {
		bitmap_copy(set, in[bb->index]);
		forward(bb, set, [](struct check *, unsigned int) {},
			[&](gimple *stmt, sbitmap known) {
				for (unsigned int i = 0; i < roots.length(); i++)
					if (variables[i] && bitmap_bit_p(known, i))
						freed.safe_push({ stmt, i });
			});
	}
	for (const auto &one : freed)
		clear_after(one.first, variables[one.second]);
	for (unsigned int i = 0; i < roots.length(); i++)
		if (variables[i])
			clear_after(SSA_NAME_DEF_STMT(roots[i]), variables[i]);
}

void rooms::share()
{
	solve_known();
	choose();
	clear_all();
}

/* After a call that ends a block nothing can be inserted. */
static bool can_insert(function *fun)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun) {
		gimple *last = last_statement(bb);

		if (last && may_free(last) && stmt_ends_bb_p(last) && EDGE_COUNT(bb->succs))
			return false;
	}
	return true;
}

void share_rooms(function *fun, vec<struct check *> &checks)
{
	if (!binds_register(fun) && can_insert(fun))
		rooms(fun, checks).share();
}
