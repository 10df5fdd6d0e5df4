// SPDX-License-Identifier: GPL-2.0
/*
 * Registers locals whose address leaves their function while it runs: a record in the frame has
 * their addresses, see struct kgcc_record in ../stack.h.
 */
#include "check.h"

/* Words of a record before the addresses. */
enum { OUTER, ALIVE, LOCALS, N, ADDRESSES };

/* Registered even if the compiler knows that no called function keeps a copy of the address. */
static bool is_registered(tree var)
{
	/* PARM_DECLs have no such flag. */
	if (VAR_P(var) && DECL_HARD_REGISTER(var))
		return false;
	return !TREE_STATIC(var) && !DECL_EXTERNAL(var) && TREE_ADDRESSABLE(var) &&
	       DECL_SIZE_UNIT(var) && tree_fits_uhwi_p(DECL_SIZE_UNIT(var)) &&
	       tree_to_uhwi(DECL_SIZE_UNIT(var));
}

static void find_locals(function *fun, vec<tree> &locals)
{
	unsigned int i;
	tree var;

	FOR_EACH_LOCAL_DECL(fun, i, var)
		if (VAR_P(var) && is_registered(var))
			locals.safe_push(var);
	for (var = DECL_ARGUMENTS(fun->decl); var; var = DECL_CHAIN(var))
		if (is_registered(var))
			locals.safe_push(var);
}

/* The sizes and names of the locals. */
static tree describe(const vec<tree> &locals)
{
	auto_vec<tree> words;

	for (tree var : locals) {
		const char *name = DECL_NAME(var) ? IDENTIFIER_POINTER(DECL_NAME(var)) : "";

		words.safe_push(size_int(size_of_variable(var)));
		words.safe_push(text_constant(name));
	}
	return words_constant("kgcc_locals", words, false);
}

static void store(gimple_stmt_iterator *gsi, tree record, unsigned int word, tree value)
{
	tree type = long_unsigned_type_node;
	tree ref = build4(ARRAY_REF, type, record, size_int(word), NULL_TREE, NULL_TREE);

	value = force_gimple_operand_gsi(gsi, fold_convert(type, value), true, NULL_TREE, true,
					 GSI_SAME_STMT);
	gsi_insert_before(gsi, gimple_build_assign(ref, value), GSI_SAME_STMT);
}

static void enter(function *fun, tree record, const vec<tree> &locals)
{
	basic_block first = split_edge(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun)));
	gimple_stmt_iterator gsi;
	struct check site = {};

	gsi = gsi_start_bb(first);
	gsi_insert_after(&gsi, gimple_build_nop(), GSI_NEW_STMT);
	store(&gsi, record, ALIVE, build_zero_cst(long_unsigned_type_node));
	store(&gsi, record, LOCALS, build_fold_addr_expr(describe(locals)));
	store(&gsi, record, N, size_int(locals.length()));
	for (unsigned int i = 0; i < locals.length(); i++)
		store(&gsi, record, ADDRESSES + i, build_fold_addr_expr(locals[i]));
	site.parts.safe_push({ 0, 0, DECL_SOURCE_LOCATION(fun->decl), KGCC_FRAME });
	emit_enter(&gsi, &site, record);
	gsi_remove(&gsi, true);
}

static void leave(function *fun, tree record)
{
	edge_iterator iterator;
	edge e;

	FOR_EACH_EDGE(e, iterator, EXIT_BLOCK_PTR_FOR_FN(fun)->preds) {
		gimple_stmt_iterator gsi = gsi_last_nondebug_bb(e->src);

		if (!gsi_end_p(gsi) && gimple_code(gsi_stmt(gsi)) == GIMPLE_RETURN)
			emit_leave(&gsi, record);
	}
}

void register_locals(function *fun)
{
	auto_vec<tree> locals;
	tree type, record;

	find_locals(fun, locals);
	if (locals.is_empty())
		return;
	for (tree var : locals)
		pad_variable(var);
	type = build_array_type_nelts(long_unsigned_type_node, ADDRESSES + locals.length());
	record = create_tmp_var(type, "kgcc_record");
	TREE_ADDRESSABLE(record) = 1;
	enter(fun, record, locals);
	leave(fun, record);
	totals.frames++;
}
