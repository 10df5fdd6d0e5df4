// SPDX-License-Identifier: GPL-2.0
/*
 * Finds where rules match, before any optimisation: members still have their names, and inline
 * functions of headers are still calls.
 */
#include <fnmatch.h>

#include "rules.h"

/* An operation that a rule matched. */
struct match {
	gimple *stmt;
	const struct rule *rule;
	unsigned int operation;
	tree ref;			/* the member, for operations on one */
};

static bool matches(const char *pattern, const char *name)
{
	return name && !fnmatch(pattern, name, 0);
}

const char *name_of_type(tree type)
{
	tree name = type ? TYPE_NAME(type) : NULL_TREE;

	if (name && TREE_CODE(name) == TYPE_DECL)
		name = DECL_NAME(name);
	return name ? IDENTIFIER_POINTER(name) : NULL;
}

/* By its typedef's name or its tag. */
static bool type_matches(const char *pattern, tree type)
{
	return matches(pattern, name_of_type(type)) ||
	       matches(pattern, name_of_type(TYPE_MAIN_VARIANT(type)));
}

/* The structure that a member belongs to in the source: the innermost with a name. */
static tree structure_of(tree ref)
{
	tree type = DECL_CONTEXT(TREE_OPERAND(ref, 1));

	while (!name_of_type(type) && TREE_CODE(TREE_OPERAND(ref, 0)) == COMPONENT_REF) {
		ref = TREE_OPERAND(ref, 0);
		type = DECL_CONTEXT(TREE_OPERAND(ref, 1));
	}
	return type;
}

static bool member_matches(const struct field_pattern *pattern, tree ref)
{
	tree field = TREE_OPERAND(ref, 1);

	return DECL_NAME(field) && matches(pattern->member, IDENTIFIER_POINTER(DECL_NAME(field))) &&
	       type_matches(pattern->structure, structure_of(ref)) &&
	       (!pattern->type || type_matches(pattern->type, TREE_TYPE(field)));
}

/* The part of a reference that is the member, or NULL. */
static tree find_member(const struct field_pattern *pattern, tree ref)
{
	for (; handled_component_p(ref); ref = TREE_OPERAND(ref, 0))
		if (TREE_CODE(ref) == COMPONENT_REF && member_matches(pattern, ref))
			return ref;
	return NULL_TREE;
}

/* -- matching ----------------------------------------------------------------------- */

struct search {
	vec<struct match> &found;
	const struct rule *rule;
};

static void match_reference(struct search *search, gimple *stmt, tree ref,
			    unsigned int operation)
{
	tree member = search->rule->operations & operation ?
		      find_member(&search->rule->field, ref) : NULL_TREE;

	if (member)
		search->found.safe_push({ stmt, search->rule, operation, member });
}

static bool match_load(gimple *stmt, tree, tree ref, void *data)
{
	match_reference((struct search *)data, stmt, ref, OPERATION_LOAD);
	return false;
}

static bool match_store(gimple *stmt, tree, tree ref, void *data)
{
	match_reference((struct search *)data, stmt, ref, OPERATION_STORE);
	return false;
}

static bool match_address(gimple *stmt, tree, tree ref, void *data)
{
	if (TREE_CODE(ref) == ADDR_EXPR)
		ref = TREE_OPERAND(ref, 0);
	match_reference((struct search *)data, stmt, ref, OPERATION_ADDRESS);
	return false;
}

/* The object whose address an argument is, through the compiler's copies. */
static tree addressed(tree arg)
{
	while (TREE_CODE(arg) == SSA_NAME && is_gimple_assign(SSA_NAME_DEF_STMT(arg))) {
		gimple *def = SSA_NAME_DEF_STMT(arg);

		if (!gimple_assign_single_p(def) && !gimple_assign_cast_p(def))
			break;
		arg = gimple_assign_rhs1(def);
	}
	return TREE_CODE(arg) == ADDR_EXPR ? TREE_OPERAND(arg, 0) : NULL_TREE;
}

static bool argument_matches(const struct argument_pattern *pattern, tree arg)
{
	tree type = TREE_TYPE(arg), ref;

	switch (pattern->kind) {
	case ARGUMENT_NUMBER:
		return tree_fits_shwi_p(arg) && tree_to_shwi(arg) == pattern->number;
	case ARGUMENT_FIELD:
		ref = addressed(arg);
		return ref && find_member(&pattern->field, ref);
	case ARGUMENT_POINTER:
		return POINTER_TYPE_P(type) && type_matches(pattern->structure, TREE_TYPE(type));
	default:
		return true;
	}
}

static bool call_matches(const struct rule *rule, gimple *call)
{
	tree callee = gimple_call_internal_p(call) ? NULL_TREE : gimple_call_fndecl(call);

	if (!callee || !DECL_NAME(callee) ||
	    !matches(rule->callee, IDENTIFIER_POINTER(DECL_NAME(callee))))
		return false;
	if (rule->any_arguments)
		return true;
	if (gimple_call_num_args(call) != rule->arguments.length())
		return false;
	for (unsigned int i = 0; i < rule->arguments.length(); i++)
		if (!argument_matches(&rule->arguments[i], gimple_call_arg(call, i)))
			return false;
	return true;
}

static void match_statement(struct search *search, gimple *stmt)
{
	if (search->rule->operations)
		walk_stmt_load_store_addr_ops(stmt, search, match_load, match_store,
					      match_address);
	else if (is_gimple_call(stmt) && call_matches(search->rule, stmt))
		search->found.safe_push({ stmt, search->rule, 0, NULL_TREE });
}

static void match_rule(function *fun, const struct rule *rule, vec<struct match> &found)
{
	struct search search = { found, rule };
	basic_block bb;

	if (rule->function && !matches(rule->function, function_name(fun)))
		return;
	FOR_EACH_BB_FN(bb, fun)
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
			if (!is_gimple_debug(gsi_stmt(gsi)) && !gimple_clobber_p(gsi_stmt(gsi)))
				match_statement(&search, gsi_stmt(gsi));
}

/* -- what follows --------------------------------------------------------------------- */

static bool fits_word(tree value)
{
	tree type = TREE_TYPE(value);

	return (INTEGRAL_TYPE_P(type) || POINTER_TYPE_P(type)) &&
	       TYPE_PRECISION(type) <= BITS_PER_WORD;
}

/* The value loaded or stored, if it is a number or a pointer. */
static tree value_of(const struct match *match)
{
	tree value = NULL_TREE;

	if (match->operation == OPERATION_LOAD)
		value = gimple_get_lhs(match->stmt);
	else if (match->operation == OPERATION_STORE && gimple_assign_single_p(match->stmt))
		value = gimple_assign_rhs1(match->stmt);
	return value && is_gimple_val(value) && fits_word(value) ? value : NULL_TREE;
}

static tree result_of(const struct match *match)
{
	tree type = gimple_call_return_type(as_a<gcall *>(match->stmt));

	if (!gimple_call_lhs(match->stmt) && is_gimple_reg_type(type) &&
	    !gimple_call_noreturn_p(match->stmt))
		gimple_call_set_lhs(match->stmt, make_ssa_name(type, match->stmt));
	return gimple_call_lhs(match->stmt);
}

/* The member's address; for a bit-field, its structure's. */
static tree address_of(const struct match *match)
{
	tree ref = match->ref;

	if (DECL_BIT_FIELD_TYPE(TREE_OPERAND(ref, 1)))
		ref = TREE_OPERAND(ref, 0);
	mark_addressable(ref);
	return build_fold_addr_expr(unshare_expr(ref));
}

/* The value of a term, or NULL if this operation has none. */
static tree value_of_term(const struct match *match, const struct term *term)
{
	tree value = NULL_TREE;

	switch (term->kind) {
	case TERM_ADDRESS:
		return address_of(match);
	case TERM_VALUE:
		return value_of(match);
	case TERM_RESULT:
		value = result_of(match);
		break;
	case TERM_ARGUMENT:
		if (term->number > 0 && term->number <= (int)gimple_call_num_args(match->stmt))
			value = gimple_call_arg(match->stmt, term->number - 1);
		break;
	case TERM_NUMBER:
		return build_int_cst(long_integer_type_node, term->number);
	default:
		break;
	}
	return value && is_gimple_val(value) && fits_word(value) ? value : NULL_TREE;
}

/* Results and loaded values exist only after the statement. */
static bool is_after(const struct match *match, const struct term *term)
{
	return term->kind == TERM_RESULT ||
	       (term->kind == TERM_VALUE && match->operation == OPERATION_LOAD);
}

static gimple_stmt_iterator place(const struct match *match, bool after)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(match->stmt);

	if (after)
		gsi_next(&gsi);
	return gsi;
}

/* Its name in the source: structure.member, or the function. */
static const char *name_of(const struct match *match)
{
	tree field;

	if (!match->rule->operations)
		return IDENTIFIER_POINTER(DECL_NAME(gimple_call_fndecl(match->stmt)));
	field = TREE_OPERAND(match->ref, 1);
	return concat(name_of_type(structure_of(match->ref)), ".",
		      IDENTIFIER_POINTER(DECL_NAME(field)), NULL);
}

static void emit_event_of(const struct match *match, const struct action *action)
{
	struct term object = action->object, value = action->value;
	gimple_stmt_iterator gsi;
	tree of_object, of_value;

	if (object.kind == TERM_DEFAULT)
		object = match->rule->operations ? (struct term){ TERM_ADDRESS, 0 }
						 : (struct term){ TERM_ARGUMENT, 1 };
	of_object = value_of_term(match, &object);
	of_value = value_of_term(match, &value);
	gsi = place(match, is_after(match, &object) || is_after(match, &value));
	emit_event(&gsi, action->event, gimple_location(match->stmt), name_of(match), of_object,
		   of_value);
}

static void emit_compare_of(const struct match *match, const struct action *action)
{
	tree value = value_of_term(match, &action->value);
	gimple_stmt_iterator gsi = place(match, is_after(match, &action->value));

	if (value)
		emit_compare(&gsi, gimple_location(match->stmt), value, action->relation,
			     action->number, ACONCAT((action->text, " (", match->rule->place, ")",
						      NULL)));
}

static HOST_WIDE_INT size_of_type(tree type)
{
	tree size = TYPE_SIZE_UNIT(type);

	return size && tree_fits_shwi_p(size) ? MAX(tree_to_shwi(size), 1) : 1;
}

/* The pointer through which a member is accessed, or its address. */
static tree pointer_below(tree ref)
{
	tree base = get_base_address(ref);

	return base && TREE_CODE(base) == MEM_REF ? TREE_OPERAND(base, 0) : NULL_TREE;
}

/* A member's bytes; for an argument, the size of its type. */
static void emit_bounds_of(const struct match *match, const struct action *action)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(match->stmt);
	tree pointer;

	if (match->rule->operations) {
		emit_bounds(&gsi, gimple_location(match->stmt), pointer_below(match->ref),
			    address_of(match), size_of_type(TREE_TYPE(match->ref)),
			    match->operation == OPERATION_STORE ? KGCC_WRITE : KGCC_READ);
		return;
	}
	pointer = value_of_term(match, &action->value);
	if (pointer && POINTER_TYPE_P(TREE_TYPE(pointer)))
		emit_bounds(&gsi, gimple_location(match->stmt), NULL_TREE, pointer,
			    size_of_type(TREE_TYPE(TREE_TYPE(pointer))), KGCC_READ);
}

static void apply(const struct match *match, const struct action *action)
{
	/* Nothing can follow a jump in its block, or a call that does not return. */
	if (stmt_ends_bb_p(match->stmt) && (is_after(match, &action->object) ||
					    is_after(match, &action->value)))
		return;
	switch (action->kind) {
	case ACTION_EVENT:
		emit_event_of(match, action);
		break;
	case ACTION_BOUNDS:
		emit_bounds_of(match, action);
		break;
	case ACTION_COMPARE:
		emit_compare_of(match, action);
		break;
	}
	totals.ruled++;
}

bool apply_rules(function *fun)
{
	auto_vec<struct match> found;

	for (const struct rule *rule : rules)
		match_rule(fun, rule, found);
	for (const struct match &match : found)
		for (const struct action &action : match.rule->actions)
			apply(&match, &action);
	if (!found.is_empty())
		mark_virtual_operands_for_renaming(fun);
	return !found.is_empty();
}
