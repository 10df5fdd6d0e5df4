// SPDX-License-Identifier: GPL-2.0
/* Traces pointers: where they come from, and where they go. */
#include "check.h"

/* Nested PHIs to look through. */
#define DEPTH 8

static tree common_root(tree pointer, hash_set<gimple *> &seen, int depth);
static struct origin trace(tree pointer, hash_set<gimple *> &seen, int depth);
static tree step_integer(tree value, struct origin *o, int depth);

bool same_root(const_tree a, const_tree b)
{
	return a == b || (CONSTANT_CLASS_P(a) && operand_equal_p(a, b));
}

/* The pointer below a reference, or the variable, and the byte offset from it. */
static tree base_of(tree ref, HOST_WIDE_INT *bytes, tree *variable)
{
	poly_int64 bitsize, bitpos;
	int unsignedp, reversep, volatilep;
	machine_mode mode;
	tree base;

	base = get_inner_reference(ref, &bitsize, &bitpos, variable, &mode,
				   &unsignedp, &reversep, &volatilep);
	*bytes = bitpos.to_constant() / BITS_PER_UNIT;
	if (TREE_CODE(base) != MEM_REF)
		return base;
	*bytes += mem_ref_offset(base).force_shwi().to_constant();
	return TREE_OPERAND(base, 0);
}

/* Steps from a reference's address to the pointer below it. */
static tree step_reference(tree ref, struct origin *o)
{
	HOST_WIDE_INT bytes;
	tree variable, base = base_of(ref, &bytes, &variable);

	o->offset += bytes;
	if (variable)
		o->constant = o->member = false;
	return base;
}

/* Whether an integer can hold a pointer. */
bool is_wide(const_tree type)
{
	return INTEGRAL_TYPE_P(type) && TYPE_PRECISION(type) == POINTER_SIZE;
}

/* The number as a signed offset of a pointer's width, whatever the sign of its type. */
static HOST_WIDE_INT as_signed(const_tree number)
{
	return TREE_INT_CST_LOW(number);
}

/* Alignment within a page stays in the object; from a page on, it finds the object's header. */
static bool aligns(const_tree mask)
{
	return TREE_CODE(mask) == INTEGER_CST && as_signed(mask) < 0 && as_signed(mask) > -4096;
}

/*
 * Is a per-CPU base (another address space) added, such as this_cpu_off? Then the other operand is
 * an offset that names per-CPU memory, and only the sum is a pointer.
 */
static bool is_of_cpu(tree value, int depth = 0)
{
	gassign *assign = TREE_CODE(value) == SSA_NAME
			  ? dyn_cast<gassign *>(SSA_NAME_DEF_STMT(value)) : NULL;
	tree from;

	if (!assign || depth == DEPTH)
		return false;
	from = gimple_assign_rhs1(assign);
	switch (gimple_assign_rhs_code(assign)) {
	case PLUS_EXPR:
	case MINUS_EXPR:
		return is_of_cpu(from, depth + 1) ||
		       is_of_cpu(gimple_assign_rhs2(assign), depth + 1);
	case SSA_NAME:
	CASE_CONVERT:
		return is_of_cpu(from, depth + 1);
	default:
		return gimple_assign_load_p(assign) &&
		       !ADDR_SPACE_GENERIC_P(TYPE_ADDR_SPACE(TREE_TYPE(from)));
	}
}

/* The sum's operand that is a pointer, if exactly one is. */
static tree step_sum(gassign *assign, struct origin *o, int depth)
{
	bool minus = gimple_assign_rhs_code(assign) == MINUS_EXPR;
	tree a = gimple_assign_rhs1(assign), b = gimple_assign_rhs2(assign);
	struct origin of_a = *o, of_b = *o;
	tree in_a = step_integer(a, &of_a, depth), in_b = step_integer(b, &of_b, depth);
	tree other = in_a ? b : a;

	if (!in_a == !in_b || (in_b && minus) || is_of_cpu(other))
		return NULL_TREE;
	*o = in_a ? of_a : of_b;
	if (TREE_CODE(other) == INTEGER_CST && absu_hwi(as_signed(other)) < HOST_WIDE_INT_1U << 40)
		o->offset += minus ? -as_signed(other) : as_signed(other);
	else
		o->constant = o->member = false;
	return in_a ? in_a : in_b;
}

static tree step_bits(gassign *assign, struct origin *o, int depth)
{
	tree found = NULL_TREE;

	if (aligns(gimple_assign_rhs2(assign)))
		found = step_integer(gimple_assign_rhs1(assign), o, depth);
	if (found)
		o->constant = o->member = false;
	return found;
}

/* The pointer that an integer was computed from, or NULL: (p + 7) & ~7. */
static tree step_integer(tree value, struct origin *o, int depth)
{
	gassign *assign = TREE_CODE(value) == SSA_NAME
			  ? dyn_cast<gassign *>(SSA_NAME_DEF_STMT(value)) : NULL;

	if (POINTER_TYPE_P(TREE_TYPE(value)))
		return value;
	if (!assign || depth == DEPTH || !is_wide(TREE_TYPE(value)))
		return NULL_TREE;
	switch (gimple_assign_rhs_code(assign)) {
	case SSA_NAME:
	CASE_CONVERT:
		return step_integer(gimple_assign_rhs1(assign), o, depth + 1);
	case VIEW_CONVERT_EXPR:
		return step_integer(TREE_OPERAND(gimple_assign_rhs1(assign), 0), o, depth + 1);
	case PLUS_EXPR:
	case MINUS_EXPR:
		return step_sum(assign, o, depth + 1);
	case BIT_AND_EXPR:
		return step_bits(assign, o, depth + 1);
	default:
		return NULL_TREE;
	}
}

/* The common root of two pointers of which one is chosen. */
static tree step_choice(tree a, tree b, struct origin *o, hash_set<gimple *> &seen, int depth)
{
	tree root;

	if (depth == DEPTH || !POINTER_TYPE_P(TREE_TYPE(a)))
		return NULL_TREE;
	root = trace(a, seen, depth + 1).root;
	if (!same_root(root, trace(b, seen, depth + 1).root))
		return NULL_TREE;
	o->constant = o->member = false;
	return root;
}

/* The pointer from which a statement computes another one, or NULL. */
static tree step_assignment(gassign *assign, struct origin *o, hash_set<gimple *> &seen,
			    int depth)
{
	tree value = gimple_assign_rhs1(assign);

	switch (gimple_assign_rhs_code(assign)) {
	case SSA_NAME:
		return value;
	case ADDR_EXPR:
		return step_reference(TREE_OPERAND(value, 0), o);
	case POINTER_PLUS_EXPR:
		if (is_of_cpu(gimple_assign_rhs2(assign)))
			return NULL_TREE;
		if (tree_fits_shwi_p(gimple_assign_rhs2(assign))) {
			o->offset += tree_to_shwi(gimple_assign_rhs2(assign));
		} else {
			o->constant = o->member = false;
		}
		return value;
	CASE_CONVERT:
		return step_integer(value, o, 0);
	case VIEW_CONVERT_EXPR:
	case PLUS_EXPR:
	case MINUS_EXPR:
	case BIT_AND_EXPR:
		return step_integer(gimple_assign_lhs(assign), o, 0);
	case MIN_EXPR:
	case MAX_EXPR:
		return step_choice(value, gimple_assign_rhs2(assign), o, seen, depth);
	case COND_EXPR:
		return step_choice(gimple_assign_rhs2(assign), gimple_assign_rhs3(assign), o,
				   seen, depth);
	default:
		return NULL_TREE;
	}
}

/* The argument that a call returns, or NULL. */
static tree step_call(gcall *call)
{
	int flags = gimple_call_return_flags(call);
	unsigned int arg = flags & ERF_RETURN_ARG_MASK;

	if (!(flags & ERF_RETURNS_ARG) || arg >= gimple_call_num_args(call))
		return NULL_TREE;
	return gimple_call_arg(call, arg);
}

/* PHIs that have a PHI of their root next to them. */
static hash_map<gphi *, gphi *> *rebased;

/* Whether all arguments of a PHI have the same distance from their own roots. */
static bool same_distance(gphi *phi, HOST_WIDE_INT *distance, vec<tree> &roots)
{
	hash_set<gimple *> seen;

	seen.add(phi);
	*distance = 0;
	for (unsigned int i = 0; i < gimple_phi_num_args(phi); i++) {
		struct origin o = trace(gimple_phi_arg_def(phi, i), seen, 1);

		if (!o.constant || !o.offset || (i && o.offset != *distance) ||
		    o.root == gimple_phi_result(phi) || TREE_CODE(o.root) == STRING_CST)
			return false;
		*distance = o.offset;
		roots.safe_push(DECL_P(o.root) ? build_fold_addr_expr(o.root) : o.root);
	}
	return true;
}

/*
 * List entries are found by links within them. The last link leads to the list's head, which is in
 * another object, where no entry is. The object that contains the link matters, so the roots get a
 * PHI, too.
 */
static tree step_rebased(gphi *phi, struct origin *o)
{
	auto_vec<tree> roots;
	HOST_WIDE_INT distance;
	gphi *links, **known = rebased->get(phi);

	if (known && !*known)
		return NULL_TREE;
	if (!same_distance(phi, &distance, roots)) {
		rebased->put(phi, NULL);
		return NULL_TREE;
	}
	o->offset += distance;
	if (known)
		return gimple_phi_result(*known);
	links = create_phi_node(make_ssa_name(ptr_type_node), gimple_bb(phi));
	for (unsigned int i = 0; i < roots.length(); i++)
		add_phi_arg(links, roots[i], gimple_phi_arg_edge(phi, i), UNKNOWN_LOCATION);
	rebased->put(phi, links);
	return gimple_phi_result(links);
}

/* PHIs belong to one function: forget the last one's. */
void start_origins(void)
{
	delete rebased;
	rebased = new hash_map<gphi *, gphi *>();
}

/* One step back from a pointer; NULL if it is a root. */
static tree step(tree pointer, struct origin *o, hash_set<gimple *> &seen, int depth)
{
	gimple *def;
	tree root;

	if (TREE_CODE(pointer) == ADDR_EXPR)
		return step_reference(TREE_OPERAND(pointer, 0), o);
	if (TREE_CODE(pointer) != SSA_NAME)
		return NULL_TREE;
	def = SSA_NAME_DEF_STMT(pointer);
	switch (gimple_code(def)) {
	case GIMPLE_ASSIGN:
		return step_assignment(as_a<gassign *>(def), o, seen, depth);
	case GIMPLE_CALL:
		return step_call(as_a<gcall *>(def));
	case GIMPLE_PHI:
		root = common_root(pointer, seen, depth);
		if (root == pointer)
			return depth ? NULL_TREE : step_rebased(as_a<gphi *>(def), o);
		o->constant = o->member = false;
		return root;
	default:
		return NULL_TREE;
	}
}

static bool usable(tree pointer)
{
	return TREE_CODE(pointer) != SSA_NAME ||
	       !SSA_NAME_OCCURS_IN_ABNORMAL_PHI(pointer);
}

static struct origin trace(tree pointer, hash_set<gimple *> &seen, int depth)
{
	struct origin o = { pointer, 0, true, true };
	tree next;

	while ((next = step(o.root, &o, seen, depth)) && usable(next)) {
		o.root = next;
		if (DECL_P(next) || TREE_CODE(next) == STRING_CST)
			break;
	}
	return o;
}

/*
 * The common root of all arguments of a PHI, or its own result if they differ. In a cycle only the
 * arguments from outside count: within it the result is NULL.
 */
static tree common_root(tree pointer, hash_set<gimple *> &seen, int depth)
{
	gphi *phi = as_a<gphi *>(SSA_NAME_DEF_STMT(pointer));
	tree root = NULL_TREE;

	if (depth == DEPTH || seen.add(phi))
		return pointer;
	for (unsigned int i = 0; i < gimple_phi_num_args(phi); i++) {
		tree arg = gimple_phi_arg_def(phi, i);
		tree from = trace(arg, seen, depth + 1).root;

		if (from == pointer)
			continue;
		if (root && !same_root(root, from))
			return pointer;
		root = from;
	}
	return root ? root : pointer;
}

struct origin origin_of(tree pointer)
{
	hash_set<gimple *> seen;

	return trace(pointer, seen, 0);
}

static void meet_zeros(tree root, tree address, hash_set<tree> &seen, unsigned int *zeros);

static void meet_zeros_of(tree distance, unsigned int *zeros)
{
	*zeros = std::min(*zeros, (unsigned int)tree_ctz(distance));
}

/* Handles the statement that defines a result. */
static void meet_zeros_by(tree root, gimple *def, hash_set<tree> &seen, unsigned int *zeros)
{
	if (gimple_code(def) == GIMPLE_PHI) {
		for (unsigned int i = 0; i < gimple_phi_num_args(def); i++)
			meet_zeros(root, gimple_phi_arg_def(def, i), seen, zeros);
		return;
	}
	switch (is_gimple_assign(def) ? gimple_assign_rhs_code(def) : ERROR_MARK) {
	case POINTER_PLUS_EXPR:
		meet_zeros_of(gimple_assign_rhs2(def), zeros);
		/* fall through */
	case SSA_NAME:
	case ADDR_EXPR:
	CASE_CONVERT:
		meet_zeros(root, gimple_assign_rhs1(def), seen, zeros);
		break;
	default:
		*zeros = 0;
	}
}

/* The fewest trailing zeros of all steps from a root to an address; visits each name once. */
static void meet_zeros(tree root, tree address, hash_set<tree> &seen, unsigned int *zeros)
{
	HOST_WIDE_INT bytes;
	tree base, variable;

	if (same_root(root, address) || seen.add(address))
		return;
	if (TREE_CODE(address) == SSA_NAME && POINTER_TYPE_P(TREE_TYPE(address))) {
		meet_zeros_by(root, SSA_NAME_DEF_STMT(address), seen, zeros);
	} else if (TREE_CODE(address) == ADDR_EXPR) {
		base = base_of(TREE_OPERAND(address, 0), &bytes, &variable);
		meet_zeros_of(size_int(bytes), zeros);
		if (variable)
			meet_zeros_of(variable, zeros);
		meet_zeros(root, base, seen, zeros);
	} else {
		*zeros = 0;
	}
}

/* A power of two known to divide an address's distance from its root. */
unsigned int step_between(tree root, tree address)
{
	hash_set<tree> seen;
	unsigned int zeros = 12;

	meet_zeros(root, address, seen, &zeros);
	return 1u << zeros;
}

static void find_escapes_of(tree pointer, hash_set<tree> &seen, vec<struct escape> &at);

/* Results of comparisons, and offsets, are no longer pointers. */
static bool is_pointer_still(gimple *stmt)
{
	tree type = TREE_TYPE(gimple_assign_lhs(stmt));

	switch (gimple_assign_rhs_code(stmt)) {
	case SSA_NAME:
	CASE_CONVERT:
	case VIEW_CONVERT_EXPR:
	case MIN_EXPR:
	case MAX_EXPR:
	case COND_EXPR:
		return POINTER_TYPE_P(type) || is_wide(type);
	default:
		return false;
	}
}

static void find_escapes_by(gimple *stmt, tree pointer, hash_set<tree> &seen,
			    vec<struct escape> &at)
{
	tree result = gimple_assign_lhs(stmt);

	if (gimple_store_p(stmt)) {
		if (gimple_assign_rhs1(stmt) == pointer)
			at.safe_push({ stmt, pointer });
	} else if (TREE_CODE(result) == SSA_NAME && is_pointer_still(stmt)) {
		/* From here on it has another root, if it is its own. */
		if (origin_of(result).root == result)
			at.safe_push({ stmt, pointer });
		else
			find_escapes_of(result, seen, at);
	}
}

static void find_escapes_to(gimple *stmt, tree pointer, hash_set<tree> &seen,
			    vec<struct escape> &at)
{
	struct marked_access access;
	tree result;

	/* It is checked as an access instead. */
	if (is_marked_access(stmt, &access))
		return;
	switch (gimple_code(stmt)) {
	case GIMPLE_RETURN:
	case GIMPLE_ASM:
		at.safe_push({ stmt, pointer });
		break;
	case GIMPLE_CALL:
		for (unsigned int i = 0; i < gimple_call_num_args(stmt); i++)
			if (gimple_call_arg(stmt, i) == pointer) {
				at.safe_push({ stmt, pointer });
				break;
			}
		break;
	case GIMPLE_PHI:
		result = gimple_phi_result(stmt);
		/* From here on it has another root, if it is its own. */
		if (origin_of(result).root == result)
			at.safe_push({ stmt, pointer });
		else
			find_escapes_of(result, seen, at);
		break;
	case GIMPLE_ASSIGN:
		find_escapes_by(stmt, pointer, seen, at);
		break;
	default:
		break;
	}
}

static void find_escapes_of(tree pointer, hash_set<tree> &seen, vec<struct escape> &at)
{
	imm_use_iterator iterator;
	use_operand_p use;

	if (seen.add(pointer))
		return;
	FOR_EACH_IMM_USE_FAST(use, iterator, pointer)
		if (!is_gimple_debug(USE_STMT(use)))
			find_escapes_to(USE_STMT(use), pointer, seen, at);
}

void find_escapes(tree pointer, vec<struct escape> &at)
{
	hash_set<tree> seen;

	find_escapes_of(pointer, seen, at);
}
