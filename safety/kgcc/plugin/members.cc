// SPDX-License-Identifier: GPL-2.0
/*
 * Indexes of arrays that are members of a structure: an index that leaves the member but not the
 * structure is within the object, yet wrong.
 *
 * The checks are comparisons, inserted before any optimisation, while indexes still exist: the
 * compiler removes those whose outcome it knows, or that are redundant.
 */
#include "check.h"

struct indexed {
	gimple *stmt;
	tree index;
	HOST_WIDE_INT count;
	tree member;			/* the array, a COMPONENT_REF */
	unsigned int flags;
};

struct search {
	vec<struct indexed> found;
	unsigned int flags;
};

static bool ends_structure(tree field)
{
	tree next = DECL_CHAIN(field);

	while (next && TREE_CODE(next) != FIELD_DECL)
		next = DECL_CHAIN(next);
	return !next || TREE_CODE(DECL_CONTEXT(field)) == UNION_TYPE;
}

/* Number of elements, or 0: a flexible array. */
static HOST_WIDE_INT elements_of(tree type)
{
	tree domain = TYPE_DOMAIN(type), last = domain ? TYPE_MAX_VALUE(domain) : NULL_TREE;

	return last && tree_fits_shwi_p(last) && integer_zerop(TYPE_MIN_VALUE(domain))
	       ? tree_to_shwi(last) + 1 : 0;
}

/* A structure's last array with zero or one element counts as flexible. */
static bool is_flexible(tree member, HOST_WIDE_INT count)
{
	return ends_structure(TREE_OPERAND(member, 1)) &&
	       (count == 1 || options.members == MEMBERS_NOT_LAST);
}

/* The member that an index applies to, through the rows of nested arrays. */
static tree member_below(tree array)
{
	while (TREE_CODE(array) == ARRAY_REF)
		array = TREE_OPERAND(array, 0);
	return TREE_CODE(array) == COMPONENT_REF ? array : NULL_TREE;
}

static void note_index(struct search *search, gimple *stmt, tree ref)
{
	tree array = TREE_OPERAND(ref, 0), index = TREE_OPERAND(ref, 1);
	tree member = member_below(array);
	HOST_WIDE_INT count = elements_of(TREE_TYPE(array));

	if (!member || count <= 0 || (array == member && is_flexible(member, count)))
		return;
	if (tree_fits_uhwi_p(index) && tree_to_uhwi(index) < (unsigned HOST_WIDE_INT)count)
		return;
	search->found.safe_push({ stmt, index, count, member, search->flags });
}

/* The object whose address a dereferenced pointer is. */
static tree pointed_at(tree base)
{
	tree pointer = TREE_OPERAND(base, 0);

	if (!integer_zerop(TREE_OPERAND(base, 1)))
		return NULL_TREE;
	while (TREE_CODE(pointer) == SSA_NAME && is_gimple_assign(SSA_NAME_DEF_STMT(pointer)) &&
	       (gimple_assign_single_p(SSA_NAME_DEF_STMT(pointer)) ||
		gimple_assign_cast_p(SSA_NAME_DEF_STMT(pointer))))
		pointer = gimple_assign_rhs1(SSA_NAME_DEF_STMT(pointer));
	return TREE_CODE(pointer) == ADDR_EXPR ? TREE_OPERAND(pointer, 0) : NULL_TREE;
}

static bool note_access(gimple *stmt, tree, tree ref, void *data)
{
	while (ref) {
		for (; handled_component_p(ref); ref = TREE_OPERAND(ref, 0))
			if (TREE_CODE(ref) == ARRAY_REF)
				note_index((struct search *)data, stmt, ref);
		ref = TREE_CODE(ref) == MEM_REF ? pointed_at(ref) : NULL_TREE;
	}
	return false;
}

static const char *name_of_member(tree ref, HOST_WIDE_INT count)
{
	tree field = TREE_OPERAND(ref, 1);
	const char *structure = name_of_type(DECL_CONTEXT(field));

	return xasprintf("%s[%ld]%s%s",
			 DECL_NAME(field) ? IDENTIFIER_POINTER(DECL_NAME(field)) : "?",
			 (long)count, structure ? " of " : "", structure ? structure : "");
}

/* A block before a statement that is executed if a condition holds. */
static gimple_stmt_iterator insert_block(gimple *stmt, gcond *condition)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(stmt);
	basic_block before, there, after;
	edge e;

	gsi_insert_before(&gsi, condition, GSI_SAME_STMT);
	e = split_block(gimple_bb(stmt), condition);
	before = e->src;
	after = e->dest;
	there = create_empty_bb(before);
	if (current_loops)
		add_bb_to_loop(there, before->loop_father);
	e->flags = EDGE_FALSE_VALUE;
	e->probability = profile_probability::very_likely();
	e = make_edge(before, there, EDGE_TRUE_VALUE);
	e->probability = profile_probability::very_unlikely();
	there->count = e->count();
	make_single_succ_edge(there, after, EDGE_FALLTHRU);
	return gsi_start_bb(there);
}

static void check_index(const struct indexed *at)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(at->stmt);
	tree index = fold_convert(long_unsigned_type_node, at->index), last;
	location_t where = gimple_location(at->stmt);
	gcond *condition;

	index = force_gimple_operand_gsi(&gsi, index, true, NULL_TREE, true, GSI_SAME_STMT);
	last = build_int_cst(long_unsigned_type_node, at->count - 1);
	condition = gimple_build_cond(GT_EXPR, index, last, NULL_TREE, NULL_TREE);
	gimple_set_location(condition, where);
	gsi = insert_block(at->stmt, condition);
	emit_member(&gsi, where, index, name_of_member(at->member, at->count), at->flags);
}

bool check_members(function *fun)
{
	struct search search = {};
	basic_block bb;

	if (options.members == MEMBERS_NONE)
		return false;
	FOR_EACH_BB_FN(bb, fun) {
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			gimple *stmt = gsi_stmt(gsi);

			if (is_gimple_debug(stmt) || gimple_clobber_p(stmt))
				continue;
			search.flags = KGCC_READ;
			walk_stmt_load_store_ops(stmt, &search, note_access, NULL);
			search.flags = KGCC_WRITE;
			walk_stmt_load_store_ops(stmt, &search, NULL, note_access);
		}
	}
	for (const struct indexed &at : search.found)
		check_index(&at);
	if (!search.found.is_empty())
		free_dominance_info(fun, CDI_DOMINATORS);
	search.found.release();
	return true;
}
