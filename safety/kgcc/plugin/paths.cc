// SPDX-License-Identifier: GPL-2.0
/*
 * Finds resources that a function acquires and does not release on some path to its exit.
 *
 * From each acquiring call, all paths to the function's exits are walked; a condition evaluates the
 * same way again. A path that keeps the resource is reported only if the function itself suggests a
 * mistake: another path that releases it returns the same kind of result, or this path returns an
 * error. An object returned by the call must not have been stored elsewhere, either.
 *
 * This comes before any optimisation, and changes nothing.
 */
#include <fnmatch.h>

#include "pairs.h"

/* Statements to visit from one acquiring call; blocks per path, and visits of each. */
#define BUDGET	20000
#define LENGTH	400
#define VISITS	2
#define DEPTH	8
/* Depth of calls searched for a release. */
#define CALLS	3

auto_vec<struct pair *> pairs;

/* Kinds of a function's results: these are compared. */
enum kind_of_end { END_VOID, END_ERROR, END_ZERO, END_GOOD, END_UNKNOWN };

struct step {
	location_t where;
	const char *text;
};

typedef std::map<std::string, bool> facts;

struct way {
	std::map<tree, tree> chosen;	/* what PHIs are */
	facts known;			/* outcomes of conditions so far */
	std::map<int, int> visits;
	std::set<gimple *> passed;	/* calls that the object was passed to */
	std::vector<struct step> steps;
	std::string allocated;		/* the object's name, if a call returned it */
	location_t last;
	bool given;
};

struct search {
	const struct pair *pair;
	const struct half *taker;
	gcall *take;
	tree result;			/* the object, if the call returned it */
	std::string object;
	int budget;
	std::set<int> given_ends;	/* kinds of exits of paths that release it */
	std::set<gimple *> harmless;	/* calls that got the object and did not keep it */
	std::vector<std::pair<struct way, enum kind_of_end>> kept;
};

static bool is_known(location_t where)
{
	return LOCATION_LOCUS(where) > BUILTINS_LOCATION;
}

static const char *name_of_callee(gimple *stmt)
{
	tree callee = is_gimple_call(stmt) ? gimple_call_fndecl(stmt) : NULL_TREE;

	return callee && DECL_NAME(callee) ? IDENTIFIER_POINTER(DECL_NAME(callee)) : NULL;
}

static const struct half *half_of(const vec<struct half> &halves, const char *name)
{
	for (const struct half &half : halves)
		if (name && !fnmatch(half.name, name, 0))
			return &half;
	return NULL;
}

/* -- what a value is, as text ----------------------------------------------------------- */

static std::string text_of(const struct way *way, tree value, int depth);

static std::string text_of_reference(const struct way *way, tree ref, int depth)
{
	tree below;

	switch (TREE_CODE(ref)) {
	case COMPONENT_REF:
		return text_of_reference(way, TREE_OPERAND(ref, 0), depth) + "." +
		       std::to_string(DECL_UID(TREE_OPERAND(ref, 1)));
	case ARRAY_REF:
		return text_of_reference(way, TREE_OPERAND(ref, 0), depth) + "[" +
		       text_of(way, TREE_OPERAND(ref, 1), depth + 1) + "]";
	case MEM_REF:
		below = TREE_OPERAND(ref, 0);
		return "*" + text_of(way, below, depth + 1) + "+" +
		       std::to_string(mem_ref_offset(ref).force_shwi().to_constant());
	default:
		/* Other expressions are all distinct. */
		return DECL_P(ref) ? "d" + std::to_string(DECL_UID(ref))
				   : "r" + std::to_string((unsigned long)ref);
	}
}

/* Functions that return their argument. */
static bool hands_through(gimple *stmt)
{
	static const char *const names[] = { "spinlock_check", "__builtin_expect", "PTR_ERR" };
	const char *called = name_of_callee(stmt);

	for (const char *name : names)
		if (called && !strcmp(called, name))
			return true;
	return false;
}

static tree resolve(const struct way *way, tree value)
{
	for (auto at = way->chosen.find(value); at != way->chosen.end();
	     at = way->chosen.find(value))
		value = at->second;
	return value;
}

/* The value of which this is only another name, or NULL. */
static tree same_as(tree value)
{
	gimple *def = TREE_CODE(value) == SSA_NAME ? SSA_NAME_DEF_STMT(value) : NULL;

	if (def && is_gimple_assign(def) &&
	    (gimple_assign_ssa_name_copy_p(def) || gimple_assign_cast_p(def) ||
	     CONSTANT_CLASS_P(gimple_assign_rhs1(def))) &&
	    gimple_num_ops(def) == 2)
		return gimple_assign_rhs1(def);
	return def && hands_through(def) ? gimple_call_arg(def, 0) : NULL_TREE;
}

/* A value computed from itself in an earlier iteration is not followed for ever. */
static tree plain(const struct way *way, tree value)
{
	tree same;

	value = resolve(way, value);
	for (int i = 0; i < DEPTH && (same = same_as(value)); i++)
		value = resolve(way, same);
	return value;
}

static std::string text_of_statement(const struct way *way, gimple *def, int depth)
{
	std::string text;

	if (is_gimple_call(def) && startswith(name_of_callee(def) ?: "", "IS_ERR"))
		return std::string(name_of_callee(def)) + "(" +
		       text_of(way, gimple_call_arg(def, 0), depth + 1) + ")";
	if (!is_gimple_assign(def))
		return "";
	if (gimple_assign_single_p(def)) {
		tree value = gimple_assign_rhs1(def);

		if (TREE_CODE(value) == ADDR_EXPR)
			return "&" + text_of_reference(way, TREE_OPERAND(value, 0), depth);
		return text_of_reference(way, value, depth);
	}
	text = get_tree_code_name(gimple_assign_rhs_code(def));
	for (unsigned int i = 1; i < gimple_num_ops(def); i++)
		text += "," + text_of(way, gimple_op(def, i), depth + 1);
	return "(" + text + ")";
}

static std::string text_of(const struct way *way, tree value, int depth)
{
	std::string text;

	value = plain(way, value);
	if (TREE_CODE(value) == INTEGER_CST)
		return std::to_string(TREE_INT_CST_LOW(value));
	if (TREE_CODE(value) == ADDR_EXPR)
		return "&" + text_of_reference(way, TREE_OPERAND(value, 0), depth);
	if (TREE_CODE(value) != SSA_NAME)
		return text_of_reference(way, value, depth);
	if (depth < DEPTH)
		text = text_of_statement(way, SSA_NAME_DEF_STMT(value), depth);
	return text.empty() ? "s" + std::to_string(SSA_NAME_VERSION(value)) : text;
}

/* -- conditions ---------------------------------------------------------------------------- */

/* A condition in one of three forms: not equal, less, or at most. */
static std::string condition(const struct way *way, enum tree_code code, tree a, tree b,
			     bool *holds, int depth = 0)
{
	std::string left, right;

	if (code == EQ_EXPR || code == GE_EXPR || code == GT_EXPR) {
		*holds = !*holds;
		code = code == EQ_EXPR ? NE_EXPR : code == GE_EXPR ? LT_EXPR : LE_EXPR;
	}
	if (code == NE_EXPR && integer_zerop(b) && depth < DEPTH) {
		gimple *def;

		a = plain(way, a);
		def = TREE_CODE(a) == SSA_NAME ? SSA_NAME_DEF_STMT(a) : NULL;
		if (def && is_gimple_assign(def) &&
		    TREE_CODE_CLASS(gimple_assign_rhs_code(def)) == tcc_comparison)
			return condition(way, gimple_assign_rhs_code(def), gimple_assign_rhs1(def),
					 gimple_assign_rhs2(def), holds, depth + 1);
		if (def && is_gimple_assign(def) && gimple_assign_rhs_code(def) == BIT_XOR_EXPR &&
		    integer_onep(gimple_assign_rhs2(def))) {
			*holds = !*holds;
			return condition(way, NE_EXPR, gimple_assign_rhs1(def),
					 integer_zero_node, holds, depth + 1);
		}
		return text_of(way, a, 0);
	}
	left = text_of(way, a, 0);
	right = text_of(way, b, 0);
	if (code == NE_EXPR && right < left)
		std::swap(left, right);
	return left + " " + get_tree_code_name(code) + " " + right;
}

static bool is_address_of_variable(tree value)
{
	tree base = TREE_CODE(value) == ADDR_EXPR ? get_base_address(TREE_OPERAND(value, 0))
						  : NULL_TREE;

	return base && DECL_P(base);
}

/* An allocated object differs from any variable and from any stored value: it is not stored. */
static bool differ(const struct way *way, tree object, tree other)
{
	bool elsewhere = is_address_of_variable(other) ||
			 (TREE_CODE(other) == SSA_NAME &&
			  gimple_assign_load_p(SSA_NAME_DEF_STMT(other)));

	return elsewhere && !way->allocated.empty() &&
	       text_of(way, object, 0) == way->allocated;
}

/* The address of a member or variable is never NULL. */
static bool is_address(tree value)
{
	gimple *def = TREE_CODE(value) == SSA_NAME ? SSA_NAME_DEF_STMT(value) : NULL;

	return TREE_CODE(value) == ADDR_EXPR ||
	       (def && gimple_assign_single_p(def) &&
		TREE_CODE(gimple_assign_rhs1(def)) == ADDR_EXPR);
}

/* 1 or 0; -1: unknown. */
static int outcome_of(const struct way *way, gcond *stmt)
{
	tree a = plain(way, gimple_cond_lhs(stmt)), b = plain(way, gimple_cond_rhs(stmt));
	enum tree_code code = gimple_cond_code(stmt);
	bool holds = true;
	std::string text;

	if (TREE_CODE(a) == INTEGER_CST && TREE_CODE(b) == INTEGER_CST) {
		tree folded = fold_binary(code, boolean_type_node, a,
					  fold_convert(TREE_TYPE(a), b));

		return folded && TREE_CODE(folded) == INTEGER_CST ? !integer_zerop(folded) : -1;
	}
	if (code == EQ_EXPR || code == NE_EXPR)
		if (differ(way, a, b) || differ(way, b, a) ||
		    (is_address(a) && integer_zerop(b)))
			return code == NE_EXPR;
	text = condition(way, code, a, b, &holds);
	auto known = way->known.find(text);
	if (known != way->known.end())
		return known->second == holds;
	/* Zero: neither less nor greater. */
	known = integer_zerop(b) ? way->known.find(text_of(way, a, 0)) : way->known.end();
	return known != way->known.end() && !known->second &&
	       (code == LT_EXPR || code == GT_EXPR) ? 0 : -1;
}

static void assume(struct way *way, gcond *stmt, bool taken)
{
	tree a = gimple_cond_lhs(stmt), b = gimple_cond_rhs(stmt);
	enum tree_code code = gimple_cond_code(stmt);
	bool holds = true;
	std::string text = condition(way, code, a, b, &holds);

	way->known[text] = holds == taken;
	if (taken && integer_zerop(b) && (code == LT_EXPR || code == GT_EXPR))
		way->known[text_of(way, a, 0)] = true;
}

/* -- ends ----------------------------------------------------------------------------------- */

static enum kind_of_end kind_of_result(const struct way *way, tree value)
{
	bool is_pointer = POINTER_TYPE_P(TREE_TYPE(value));

	value = plain(way, value);
	if (TREE_CODE(value) == INTEGER_CST) {
		if (integer_zerop(value))
			return is_pointer ? END_ERROR : END_ZERO;
		return tree_int_cst_sgn(value) < 0 || is_pointer ? END_ERROR : END_GOOD;
	}
	if (TREE_CODE(value) == SSA_NAME) {
		const char *name = name_of_callee(SSA_NAME_DEF_STMT(value));
		auto known = way->known.find(text_of(way, value, 0));

		if (name && (!strcmp(name, "ERR_PTR") || !strcmp(name, "ERR_CAST")))
			return END_ERROR;
		if (known != way->known.end() && is_pointer)
			return known->second ? END_GOOD : END_ERROR;
		if (known != way->known.end())
			return known->second ? END_ERROR : END_ZERO;
	}
	return END_UNKNOWN;
}

/* Whether a value is the object, or a part of it. */
static bool is_object(const struct search *search, const struct way *way, tree value,
		      int depth = 0)
{
	gimple *def;
	tree base;

	if (depth == DEPTH || search->object.empty())
		return false;
	if (!POINTER_TYPE_P(TREE_TYPE(value)) && !is_wide(TREE_TYPE(value)))
		return false;
	value = plain(way, value);
	if (text_of(way, value, 0) == search->object)
		return true;
	def = TREE_CODE(value) == SSA_NAME ? SSA_NAME_DEF_STMT(value) : NULL;
	if (def && is_gimple_assign(def) && gimple_assign_rhs_code(def) == POINTER_PLUS_EXPR)
		return is_object(search, way, gimple_assign_rhs1(def), depth + 1);
	if (def && gimple_assign_single_p(def))
		value = gimple_assign_rhs1(def);
	if (TREE_CODE(value) != ADDR_EXPR)
		return false;
	base = get_base_address(TREE_OPERAND(value, 0));
	return base && TREE_CODE(base) == MEM_REF &&
	       is_object(search, way, TREE_OPERAND(base, 0), depth + 1);
}

static void end_way(struct search *search, struct way *way, greturn *stmt)
{
	tree value = gimple_return_retval(stmt);
	enum kind_of_end kind = value ? kind_of_result(way, value) : END_VOID;

	if (way->given) {
		search->given_ends.insert(kind);
		search->harmless.insert(way->passed.begin(), way->passed.end());
		return;
	}
	if (value && search->result && is_object(search, way, value))
		return;
	way->steps.push_back({ way->last, "and here the function ends" });
	search->kept.push_back({ *way, kind });
}

/* -- statements ------------------------------------------------------------------------------- */

static bool may_give(const struct search *search, tree function, int depth);

static bool gives_below(const struct search *search, function *fun, int depth)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun) {
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			gimple *stmt = gsi_stmt(gsi);
			tree callee = is_gimple_call(stmt) ? gimple_call_fndecl(stmt) : NULL_TREE;

			if (half_of(search->pair->givers, name_of_callee(stmt)) ||
			    (callee && may_give(search, callee, depth + 1)))
				return true;
		}
	}
	return false;
}

/* May CALLEE release? Judged by its body or, if that is in another file, by its name. */
static bool may_give(const struct search *search, tree callee, int depth)
{
	static const char *const words[] = {
		"unlock", "free", "put", "release", "relse", "drop", "destroy", "cleanup", "end",
		"finish", "complete", "done", "exit", "abort", "del", "delete", "remove", "close",
		"forget", "restore", "enable",
	};
	function *fun = DECL_STRUCT_FUNCTION(callee);

	if (fun && fun->cfg)
		return depth < CALLS && gives_below(search, fun, depth);
	for (const char *word : words)
		if (depth == 0 && DECL_NAME(callee) && !DECL_DECLARED_INLINE_P(callee) &&
		    strstr(IDENTIFIER_POINTER(DECL_NAME(callee)), word))
			return true;
	return false;
}

/* Whether a releasing call releases this object, or does not name its object. */
static bool is_given(const struct search *search, const struct way *way, gcall *call,
		     const struct half *giver)
{
	return giver->object <= OBJECT_RESULT ||
	       search->taker->object == OBJECT_NONE ||
	       (giver->object <= (int)gimple_call_num_args(call) &&
		text_of(way, gimple_call_arg(call, giver->object - 1), 0) == search->object);
}

static bool keeps_nothing(const char *name)
{
	static const char *const names[] = {
		"memcpy", "memset", "memmove", "memcmp", "strcpy", "strscpy", "strlen", "strcmp",
		"sprintf", "snprintf", "copy_from_user", "copy_to_user", "IS_ERR", "PTR_ERR",
		"IS_ERR_OR_NULL", "_printk", "kgcc_ksize", "spinlock_check", "ksize",
	};

	if (name && startswith(name, "__builtin_"))
		return true;
	for (const char *keeper : names)
		if (name && !strcmp(name, keeper))
			return true;
	return false;
}

/* false: nothing more is known on this path. */
static bool walk_call(struct search *search, struct way *way, gcall *call)
{
	const char *name = name_of_callee(call);
	const struct half *giver = half_of(search->pair->givers, name);
	tree callee = gimple_call_fndecl(call);

	if (giver && is_given(search, way, call, giver)) {
		way->given = true;
		return true;
	}
	if (gimple_call_noreturn_p(call) || call == search->take)
		return false;
	for (unsigned int i = 0; i < gimple_call_num_args(call); i++)
		if (!keeps_nothing(name) && is_object(search, way, gimple_call_arg(call, i)))
			way->passed.insert(call);
	if (search->result)
		return true;
	/* A lock may be released by a function that it is not passed to. */
	return way->given || giver || !callee || keeps_nothing(name) ||
	       !may_give(search, callee, 0);
}

static bool walk_statement(struct search *search, struct way *way, gimple *stmt)
{
	/* Exits share one return statement: the path to it differs. */
	if (is_known(gimple_location(stmt)) && gimple_code(stmt) != GIMPLE_RETURN &&
	    !gimple_clobber_p(stmt))
		way->last = gimple_location(stmt);
	if (gcall *call = dyn_cast<gcall *>(stmt))
		return walk_call(search, way, call);
	if (gimple_code(stmt) == GIMPLE_ASM)
		return !search->result;
	/* The object is stored elsewhere. */
	if (search->result && gimple_store_p(stmt) && is_gimple_assign(stmt) &&
	    is_gimple_val(gimple_assign_rhs1(stmt)) &&
	    is_object(search, way, gimple_assign_rhs1(stmt)))
		return false;
	if (greturn *end = dyn_cast<greturn *>(stmt)) {
		end_way(search, way, end);
		return false;
	}
	return true;
}

static void walk(struct search *search, struct way *way, basic_block bb, gimple *from);

/* PHIs take the values of this edge, all at once. */
static void choose(struct way *way, edge e)
{
	std::map<tree, tree> fresh;

	for (auto gsi = gsi_start_phis(e->dest); !gsi_end_p(gsi); gsi_next(&gsi)) {
		gphi *phi = gsi.phi();
		tree value = gimple_phi_arg_def(phi, e->dest_idx);

		if (virtual_operand_p(gimple_phi_result(phi)))
			continue;
		value = resolve(way, value);
		if (value != gimple_phi_result(phi))
			fresh[gimple_phi_result(phi)] = value;
		if (is_known(gimple_phi_arg_location(phi, e->dest_idx)))
			way->last = gimple_phi_arg_location(phi, e->dest_idx);
	}
	for (const auto &phi : fresh)
		way->chosen.erase(phi.first);
	for (const auto &phi : fresh)
		if (resolve(way, phi.second) != phi.first)
			way->chosen[phi.first] = phi.second;
}

static void follow(struct search *search, struct way *way, edge e)
{
	struct way next = *way;

	if (e->flags & (EDGE_EH | EDGE_ABNORMAL) || e->dest == EXIT_BLOCK_PTR_FOR_FN(cfun))
		return;
	if (is_known(e->goto_locus))
		next.last = e->goto_locus;
	choose(&next, e);
	walk(search, &next, e->dest, NULL);
}

static void follow_condition(struct search *search, struct way *way, basic_block bb,
			     gcond *stmt)
{
	int outcome = outcome_of(way, stmt);
	edge_iterator iterator;
	edge e;

	FOR_EACH_EDGE(e, iterator, bb->succs) {
		bool holds = e->flags & EDGE_TRUE_VALUE;
		struct way next = *way;

		if (outcome >= 0 && outcome != holds)
			continue;
		assume(&next, stmt, holds);
		if (outcome < 0 && !way->given)
			next.steps.push_back({ gimple_location(stmt),
					       holds ? "here, if this holds"
						     : "here, if this does not hold" });
		follow(search, &next, e);
	}
}

static void walk(struct search *search, struct way *way, basic_block bb, gimple *from)
{
	gimple *last = last_statement(bb);
	gimple_stmt_iterator gsi;
	edge_iterator iterator;
	edge e;

	if (search->budget-- <= 0 || (!from && way->visits[bb->index]++ == VISITS))
		return;
	gsi = from ? gsi_for_stmt(from) : gsi_start_bb(bb);
	if (from)
		gsi_next(&gsi);
	for (; !gsi_end_p(gsi); gsi_next(&gsi)) {
		if (is_gimple_debug(gsi_stmt(gsi)))
			continue;
		if (search->budget-- <= 0 || !walk_statement(search, way, gsi_stmt(gsi)))
			return;
	}
	if (way->steps.size() > LENGTH)
		return;
	if (last && gimple_code(last) == GIMPLE_COND) {
		follow_condition(search, way, bb, as_a<gcond *>(last));
		return;
	}
	FOR_EACH_EDGE(e, iterator, bb->succs)
		follow(search, way, e);
}

/* -- reports ------------------------------------------------------------------------------------ */

/*
 * A function that got the object may have kept it, unless another path releases it after that call
 * and this path fails.
 */
static bool is_elsewhere(const struct search *search, const struct way *way,
			 enum kind_of_end kind)
{
	for (gimple *call : way->passed)
		if (!search->harmless.count(call) || kind != END_ERROR)
			return true;
	return false;
}

static bool is_wrong(const struct search *search, const struct way *way, enum kind_of_end kind)
{
	if (is_elsewhere(search, way, kind))
		return false;
	return search->result || (!search->given_ends.empty() &&
				  (kind == END_ERROR || search->given_ends.count(kind)));
}

static void report(const struct search *search, const struct way *way)
{
	const char *name = name_of_callee(search->take);

	if (!warning_at(gimple_location(search->take), 0,
			"what %<%s()%> takes here is not given back on one way out", name))
		return;
	for (const struct step &step : way->steps)
		if (is_known(step.where))
			inform(step.where, "%s", step.text);
	totals.kept++;
}

/* Reports the shortest of the faulty paths. */
static void judge(const struct search *search)
{
	const struct way *shortest = NULL;

	if (search->budget <= 0)
		return;
	for (const auto &end : search->kept)
		if (is_wrong(search, &end.first, end.second) &&
		    (!shortest || end.first.steps.size() < shortest->steps.size()))
			shortest = &end.first;
	if (shortest)
		report(search, shortest);
}

/* Records the conditions that certainly held before this block. */
static void remember(struct way *way, basic_block bb)
{
	for (; bb != ENTRY_BLOCK_PTR_FOR_FN(cfun);
	     bb = get_immediate_dominator(CDI_DOMINATORS, bb)) {
		edge e = single_pred_p(bb) ? single_pred_edge(bb) : NULL;
		gimple *last = e ? last_statement(e->src) : NULL;

		if (last && gimple_code(last) == GIMPLE_COND)
			assume(way, as_a<gcond *>(last), e->flags & EDGE_TRUE_VALUE);
	}
}

static bool start(struct search *search, struct way *way)
{
	tree result = gimple_call_lhs(search->take);
	int object = search->taker->object;

	if (object > (int)gimple_call_num_args(search->take) ||
	    (object == OBJECT_RESULT && (!result || TREE_CODE(result) != SSA_NAME)))
		return false;
	if (object >= OBJECT_RESULT)
		search->object = text_of(way, object ? gimple_call_arg(search->take, object - 1)
						     : result, 0);
	if (object == OBJECT_RESULT) {
		search->result = result;
		way->allocated = search->object;
	}
	if (search->taker->outcome == OUTCOME_ANY)
		return true;
	/* A function that ignores the result is not judged. */
	if (!result || TREE_CODE(result) != SSA_NAME)
		return false;
	way->known[text_of(way, result, 0)] = search->taker->outcome == OUTCOME_NONZERO;
	way->known["IS_ERR(" + search->object + ")"] = false;
	way->known["IS_ERR_OR_NULL(" + search->object + ")"] = false;
	return true;
}

static void look_from(const struct pair *pair, const struct half *taker, gcall *call)
{
	struct search search = {};
	struct way way = {};

	search.pair = pair;
	search.taker = taker;
	search.take = call;
	search.budget = BUDGET;
	way.last = gimple_location(call);
	remember(&way, gimple_bb(call));
	if (!start(&search, &way) || stmt_ends_bb_p(call))
		return;
	totals.taken++;
	walk(&search, &way, gimple_bb(call), call);
	judge(&search);
}

void check_paths(function *fun)
{
	basic_block bb;

	/* The kernel's own inline functions do not belong to this module. */
	if (pairs.is_empty() || DECL_IN_SYSTEM_HEADER(fun->decl) ||
	    strstr(DECL_SOURCE_FILE(fun->decl), "include/"))
		return;
	calculate_dominance_info(CDI_DOMINATORS);
	FOR_EACH_BB_FN(bb, fun) {
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			const char *name = name_of_callee(gsi_stmt(gsi));

			for (const struct pair *pair : pairs)
				if (const struct half *taker = half_of(pair->takers, name))
					look_from(pair, taker, as_a<gcall *>(gsi_stmt(gsi)));
		}
	}
}
