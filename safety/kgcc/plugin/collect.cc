// SPDX-License-Identifier: GPL-2.0
/* Collects the memory accesses and the pointer arithmetic of a function's statements. */
#include "check.h"

/* Places after a loop at which to check a pointer instead of in it, at most. */
#define ESCAPES 8

/* A memory reference in its components. */
struct reference {
	tree pointer;			/* dereferenced pointer; NULL: a variable */
	tree variable;
	HOST_WIDE_INT lo, hi;		/* bytes from there */
	bool constant;			/* all constant, except for an index */
};

/* The unit of a function's length argument: bytes of each, or bits (eighths). */
enum { BITS = 0 };

/* Functions that access memory through a pointer and a length argument. */
static const struct {
	const char *name;
	int write, read, read2;		/* argument numbers, -1: none */
	int length;
	int unit = 1;
	int times = -1;			/* an argument that multiplies the length */
	int plus = -1;			/* ... or is added to it */
} memory_functions[] = {
	{ "memcpy", 0, 1, -1, 2 }, { "__memcpy", 0, 1, -1, 2 },
	{ "memmove", 0, 1, -1, 2 }, { "__memmove", 0, 1, -1, 2 },
	{ "memset", 0, -1, -1, 2 }, { "__memset", 0, -1, -1, 2 },
	{ "memcmp", -1, 0, 1, 2 }, { "bcmp", -1, 0, 1, 2 },
	{ "memchr", -1, 0, -1, 2 }, { "memchr_inv", -1, 0, -1, 2 },
	{ "memzero_explicit", 0, -1, -1, 1 }, { "memscan", -1, 0, -1, 2 },
	{ "memweight", -1, 0, -1, 1 }, { "kvmemdup", -1, 0, -1, 1 }, { "memcpy_and_pad", 0, -1, -1, 1 },
	{ "crypto_memneq", -1, 0, 1, 2 }, { "__crypto_memneq", -1, 0, 1, 2 },
	{ "get_random_bytes", 0, -1, -1, 1 }, { "sort", 0, -1, -1, 1, 1, 2 },
	{ "crc32_le", -1, 1, -1, 2 }, { "crc32_be", -1, 1, -1, 2 }, { "crc32c", -1, 1, -1, 2 },
	{ "__crc32c_le", -1, 1, -1, 2 }, { "crc16", -1, 1, -1, 2 }, { "crc_ccitt", -1, 1, -1, 2 },
	{ "hex_dump_to_buffer", -1, 0, -1, 1 }, { "bin2hex", 0, -1, -1, 2, 2 },
	{ "bin2hex", -1, 1, -1, 2 }, { "hex2bin", 0, -1, -1, 2 }, { "hex2bin", -1, 1, -1, 2, 2 },
	{ "print_hex_dump", -1, 5, -1, 6 },
	{ "_find_first_bit", -1, 0, -1, 1, BITS }, { "_find_next_bit", -1, 0, -1, 1, BITS },
	{ "_find_first_zero_bit", -1, 0, -1, 1, BITS },
	{ "_find_next_zero_bit", -1, 0, -1, 1, BITS }, { "_find_last_bit", -1, 0, -1, 1, BITS },
	{ "__bitmap_weight", -1, 0, -1, 1, BITS }, { "__bitmap_and", 0, 1, 2, 3, BITS },
	{ "__bitmap_or", 0, 1, 2, 3, BITS }, { "__bitmap_xor", 0, 1, 2, 3, BITS },
	{ "__bitmap_andnot", 0, 1, 2, 3, BITS }, { "__bitmap_complement", 0, 1, -1, 2, BITS },
	{ "__bitmap_equal", -1, 0, 1, 2, BITS }, { "__bitmap_subset", -1, 0, 1, 2, BITS },
	{ "__bitmap_intersects", -1, 0, 1, 2, BITS },
	{ "__bitmap_set", 0, -1, -1, 1, BITS, -1, 2 },
	{ "__bitmap_clear", 0, -1, -1, 1, BITS, -1, 2 },
	{ "bitmap_find_next_zero_area_off", -1, 0, -1, 1, BITS },
	{ "csum_partial", -1, 0, -1, 1 }, { "crc8", -1, 1, -1, 2 }, { "crc_itu_t", -1, 1, -1, 2 },
	{ "xxh32", -1, 0, -1, 1 }, { "xxh64", -1, 0, -1, 1 },
	{ "skb_copy_bits", 2, -1, -1, 3 }, { "skb_store_bits", -1, 2, -1, 3 },
	{ "nla_memcpy", 0, -1, -1, 2 }, { "copy_from_kernel_nofault", 0, -1, -1, 2 },
	{ "_copy_from_user", 0, -1, -1, 2 }, { "_copy_to_user", -1, 1, -1, 2 },
	{ "_copy_to_iter", -1, 0, -1, 1 }, { "_copy_from_iter", 0, -1, -1, 1 },
};

static bool take_apart(tree ref, struct reference *r)
{
	poly_int64 bitsize, bitpos;
	int unsignedp, reversep, volatilep;
	machine_mode mode;
	tree offset, base;
	HOST_WIDE_INT size, position;

	if (!handled_component_p(ref) && TREE_CODE(ref) != MEM_REF)
		return false;
	base = get_inner_reference(ref, &bitsize, &bitpos, &offset, &mode,
				   &unsignedp, &reversep, &volatilep);
	if (!ADDR_SPACE_GENERIC_P(TYPE_ADDR_SPACE(TREE_TYPE(base))) ||
	    !ADDR_SPACE_GENERIC_P(TYPE_ADDR_SPACE(TREE_TYPE(ref))))
		return false;
	if (!bitsize.is_constant(&size) || !bitpos.is_constant(&position) || size <= 0)
		return false;
	*r = { NULL_TREE, NULL_TREE, 0, 0, offset == NULL_TREE };
	r->lo = position >> 3;
	r->hi = (position + size + 7) >> 3;
	if (TREE_CODE(base) == MEM_REF) {
		HOST_WIDE_INT more = mem_ref_offset(base).force_shwi().to_constant();

		r->pointer = TREE_OPERAND(base, 0);
		r->lo += more;
		r->hi += more;
		if (TREE_CODE(r->pointer) == ADDR_EXPR)
			r->pointer = NULL_TREE, base = TREE_OPERAND(TREE_OPERAND(base, 0), 0);
	}
	if (!r->pointer)
		r->variable = base;
	return r->pointer || DECL_P(r->variable) || TREE_CODE(r->variable) == STRING_CST;
}

/* -- operations, for the share removed ---------------------------------------- */

static tree count_reference(gimple *, tree ref, tree, void *data)
{
	struct reference r;

	if (take_apart(ref, &r) && (r.pointer || !r.constant))
		++*(unsigned int *)data;
	return NULL_TREE;
}

static bool counts_reference(gimple *stmt, tree base, tree ref, void *data)
{
	count_reference(stmt, ref, base, data);
	return false;
}

/* Arithmetic: p + i, &p->member, &p[i]. */
static bool is_arithmetic(gimple *stmt)
{
	struct reference r;

	if (!is_gimple_assign(stmt))
		return false;
	switch (gimple_assign_rhs_code(stmt)) {
	case POINTER_PLUS_EXPR:
		return true;
	case ADDR_EXPR:
		return take_apart(TREE_OPERAND(gimple_assign_rhs1(stmt), 0), &r) &&
		       (r.pointer || !r.constant);
	default:
		return false;
	}
}

/* Dereferences and pointer arithmetic in a function. */
unsigned int count_operations(function *fun)
{
	unsigned int n = 0;
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun) {
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			gimple *stmt = gsi_stmt(gsi);

			if (is_gimple_debug(stmt) || gimple_clobber_p(stmt))
				continue;
			n += is_arithmetic(stmt);
			walk_stmt_load_store_ops(stmt, &n, counts_reference, counts_reference);
		}
	}
	return n;
}

/* -- the checks --------------------------------------------------------------- */

struct collector {
	vec<struct check *> &checks;
	gimple *stmt;
	auto_vec<std::pair<tree, tree>> addresses;	/* expressions and their names */
};

static struct check *new_check(struct collector *c, tree root, unsigned int flags)
{
	struct check *check = new struct check();

	check->stmt = c->stmt;
	check->root = root;
	check->parts.safe_push({ 0, 0, gimple_location(c->stmt), flags });
	c->checks.safe_push(check);
	return check;
}

static void set_bytes(struct check *check, HOST_WIDE_INT lo, HOST_WIDE_INT hi)
{
	check->lo = check->parts[0].lo = lo;
	check->hi = check->parts[0].hi = hi;
}

/* Bytes LO to HI from a pointer. */
static void add_access(struct collector *c, tree pointer, HOST_WIDE_INT lo, HOST_WIDE_INT hi,
		       tree length, unsigned int flags)
{
	struct origin o = origin_of(pointer);
	struct check *check;

	if (size_of_object(o.root) >= 0 && o.constant && !length && lo + o.offset >= 0 &&
	    hi + o.offset <= size_of_object(o.root))
		return;
	check = new_check(c, o.root, flags);
	check->length = length;
	if (!o.constant || length) {
		check->addr = pointer;
		set_bytes(check, lo, hi);
	} else {
		set_bytes(check, lo + o.offset, hi + o.offset);
	}
}

/* The object of the last index: the part of the reference before it is not checked by itself. */
static tree last_indexed(tree ref)
{
	tree part = ref;

	while (handled_component_p(part) && (TREE_CODE(part) != ARRAY_REF ||
					     TREE_CODE(TREE_OPERAND(part, 1)) == INTEGER_CST))
		part = TREE_OPERAND(part, 0);
	return handled_component_p(part) ? part : ref;
}

/* The name of an address: an existing one, or a new one. */
static tree name_address(struct collector *c, tree ref)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(c->stmt);
	tree address = build_fold_addr_expr(unshare_expr(ref)), name;

	for (const auto &known : c->addresses)
		if (operand_equal_p(known.first, address) &&
		    dominated_by_p(CDI_DOMINATORS, gimple_bb(c->stmt),
				   gimple_bb(SSA_NAME_DEF_STMT(known.second))))
			return known.second;
	name = force_gimple_operand_gsi(&gsi, unshare_expr(address), true, NULL_TREE, true,
					GSI_SAME_STMT);
	if (TREE_CODE(name) == SSA_NAME)
		c->addresses.safe_push({ address, name });
	return name;
}

static void add_indexed(struct collector *c, tree ref, const struct reference *r,
			unsigned int flags)
{
	tree indexed = last_indexed(ref), root = r->variable;
	struct reference below;
	struct check *check;

	if (!take_apart(indexed, &below))
		return;
	if (r->pointer)
		root = origin_of(r->pointer).root;
	check = new_check(c, root, flags);
	check->addr = name_address(c, indexed);
	set_bytes(check, r->lo - below.lo, r->hi - below.lo);
}

static void add_reference(struct collector *c, tree ref, unsigned int flags)
{
	struct reference r;

	if (!take_apart(ref, &r))
		return;
	if (!r.constant)
		add_indexed(c, ref, &r, flags);
	else if (r.pointer)
		add_access(c, r.pointer, r.lo, r.hi, NULL_TREE, flags);
	else if (r.lo < 0 || r.hi > size_of_object(r.variable))
		set_bytes(new_check(c, r.variable, flags), r.lo, r.hi);
}

static bool loads(gimple *, tree, tree ref, void *data)
{
	add_reference((struct collector *)data, ref, KGCC_READ);
	return false;
}

static bool stores(gimple *, tree, tree ref, void *data)
{
	add_reference((struct collector *)data, ref, KGCC_WRITE);
	return false;
}

/*
 * Memory operands of assembly, up to a register's size. Larger ones are the kernel's notation for
 * user memory, or for memory of any size; a constant address only keeps assembly in order.
 */
static bool is_operand(tree ref)
{
	tree base = get_base_address(ref);

	if (base && TREE_CODE(base) == MEM_REF && CONSTANT_CLASS_P(TREE_OPERAND(base, 0)))
		return false;
	return tree_fits_uhwi_p(TYPE_SIZE_UNIT(TREE_TYPE(ref))) &&
	       tree_to_uhwi(TYPE_SIZE_UNIT(TREE_TYPE(ref))) <= 16;
}

/* Per-CPU memory: its operands are offsets. */
static bool is_per_cpu(gasm *stmt)
{
	return strstr(gimple_asm_string(stmt), "gs:");
}

static bool asm_loads(gimple *, tree, tree ref, void *data)
{
	if (is_operand(ref))
		add_reference((struct collector *)data, ref, KGCC_READ);
	return false;
}

static bool asm_stores(gimple *, tree, tree ref, void *data)
{
	if (is_operand(ref))
		add_reference((struct collector *)data, ref, KGCC_WRITE);
	return false;
}

static void add_operands(struct collector *c, gasm *stmt)
{
	if (!is_per_cpu(stmt))
		walk_stmt_load_store_ops(stmt, c, asm_loads, asm_stores);
}

static void add_bytes(struct collector *c, tree pointer, tree length, unsigned int flags)
{
	if (TREE_CODE(pointer) == INTEGER_CST)
		return;
	if (tree_fits_shwi_p(length) && tree_to_shwi(length) > 0)
		add_access(c, pointer, 0, tree_to_shwi(length), NULL_TREE, flags);
	else if (!CONSTANT_CLASS_P(length))
		add_access(c, pointer, 0, 0, length, flags);
}

static void add_argument(struct collector *c, gcall *call, int arg, tree length,
			 unsigned int flags)
{
	if (arg >= 0)
		add_bytes(c, gimple_call_arg(call, arg), length, flags);
}

/* __atomic_load_4, __sync_fetch_and_add_8: the bytes that a builtin accesses, or 0. */
static unsigned int bytes_of_atomic(const char *name)
{
	const char *number = strrchr(name, '_');

	if (!startswith(name, "__atomic_") && !startswith(name, "__sync_"))
		return 0;
	return number && ISDIGIT(number[1]) ? atoi(number + 1) : 0;
}

static void add_atomic(struct collector *c, gcall *call, const char *name)
{
	unsigned int bytes = bytes_of_atomic(name);

	if (!bytes || !gimple_call_num_args(call))
		return;
	add_argument(c, call, 0, size_int(bytes),
		     startswith(name, "__atomic_load") ? KGCC_READ : KGCC_READ | KGCC_WRITE);
	if (startswith(name, "__atomic_compare_exchange"))
		add_argument(c, call, 1, size_int(bytes), KGCC_READ);
}

/* The length in bytes, as a word; computed before the call if not constant. */
static tree length_of(gcall *call, int argument, int unit, int times, int plus)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(call);
	tree length = gimple_call_arg(call, argument), bytes;

	if (unit == 1 && times < 0 && plus < 0 && is_wide(TREE_TYPE(length)))
		return length;
	bytes = fold_convert(sizetype, length);
	if (plus >= 0)
		bytes = fold_build2(PLUS_EXPR, sizetype, bytes,
				    fold_convert(sizetype, gimple_call_arg(call, plus)));
	if (unit == BITS)
		bytes = fold_build2(RSHIFT_EXPR, sizetype,
				    fold_build2(PLUS_EXPR, sizetype, bytes, size_int(7)),
				    build_int_cst(integer_type_node, 3));
	else
		bytes = fold_build2(MULT_EXPR, sizetype, bytes, size_int(unit));
	if (times >= 0)
		bytes = fold_build2(MULT_EXPR, sizetype, bytes,
				    fold_convert(sizetype, gimple_call_arg(call, times)));
	return force_gimple_operand_gsi(&gsi, bytes, true, NULL_TREE, true, GSI_SAME_STMT);
}

static void add_memory_function(struct collector *c, gcall *call)
{
	tree callee = gimple_call_fndecl(call);
	const char *name;

	if (!callee || !DECL_NAME(callee))
		return;
	name = IDENTIFIER_POINTER(DECL_NAME(callee));
	add_atomic(c, call, name);
	if (startswith(name, "__builtin_"))
		name += strlen("__builtin_");
	/* FORTIFY_SOURCE calls a function by this name after its own check. */
	if (startswith(name, "__real_"))
		name += strlen("__real_");
	for (const auto &f : memory_functions) {
		if (strcmp(name, f.name) || (int)gimple_call_num_args(call) <= MAX(f.length, f.plus))
			continue;
		tree length = length_of(call, f.length, f.unit, f.times, f.plus);

		add_argument(c, call, f.write, length, KGCC_WRITE);
		add_argument(c, call, f.read, length, KGCC_READ);
		add_argument(c, call, f.read2, length, KGCC_READ);
	}
}

/* Whether it is the address of a member that the root's type has. */
static bool is_member(const struct origin *o)
{
	tree type = TREE_TYPE(o->root);

	if (o->member && o->constant && o->offset == 0)
		return true;
	if (!o->constant || o->offset < 0 || !POINTER_TYPE_P(type))
		return false;
	type = TREE_TYPE(type);
	return RECORD_OR_UNION_TYPE_P(type) && COMPLETE_TYPE_P(type) &&
	       tree_fits_shwi_p(TYPE_SIZE_UNIT(type)) &&
	       o->offset < tree_to_shwi(TYPE_SIZE_UNIT(type));
}

/* Whether an address lies in a variable, or at its end. */
static bool in_variable(const struct origin *o)
{
	return size_of_object(o->root) >= 0 && o->constant && o->offset >= 0 &&
	       o->offset <= size_of_object(o->root);
}

/*
 * Whether a pointer made in a loop is passed on only after it, as when a loop searches: then it is
 * checked there, once.
 */
static bool leave_loop(const gimple *made, const vec<struct escape> &escapes)
{
	if (escapes.length() > ESCAPES)
		return false;
	for (const struct escape &escape : escapes)
		if (gimple_code(escape.stmt) == GIMPLE_PHI ||
		    bb_loop_depth(gimple_bb(escape.stmt)) >= bb_loop_depth(gimple_bb(made)))
			return false;
	return true;
}

/*
 * Pointers made by arithmetic are checked where a statement passes them on and the root changes,
 * ...
 */
static void add_handed_on(struct collector *c, const struct escape *escape)
{
	struct check *check = new_check(c, origin_of(escape->pointer).root, KGCC_ARITH);

	check->stmt = escape->stmt;
	check->addr = escape->pointer;
}

/* ... or where they are made. */
static void add_made(struct collector *c, tree pointer, const struct origin *o)
{
	struct check *check = new_check(c, o->root, KGCC_ARITH);

	check->after = true;
	if (o->constant)
		set_bytes(check, o->offset, o->offset);
	else
		check->addr = pointer;
}

/* Integer arithmetic on a pointer's value: (unsigned long)p + i, and back. */
static bool is_integer_arithmetic(gimple *stmt)
{
	tree result;

	if (!is_gimple_assign(stmt))
		return false;
	result = gimple_assign_lhs(stmt);
	if (TREE_CODE(result) != SSA_NAME)
		return false;
	switch (gimple_assign_rhs_code(stmt)) {
	CASE_CONVERT:
		if (!POINTER_TYPE_P(TREE_TYPE(result)) ||
		    POINTER_TYPE_P(TREE_TYPE(gimple_assign_rhs1(stmt))))
			return false;
		break;
	case PLUS_EXPR:
	case MINUS_EXPR:
	case BIT_AND_EXPR:
		if (!is_wide(TREE_TYPE(result)))
			return false;
		break;
	default:
		return false;
	}
	return origin_of(result).root != result;
}

static void add_arithmetic(struct collector *c)
{
	tree pointer = gimple_assign_lhs(c->stmt);
	struct origin o = origin_of(pointer);
	auto_vec<struct escape> escapes;

	if (in_variable(&o)) {
		totals.proven++;
	} else if (is_member(&o)) {
		totals.member++;
	} else {
		find_escapes(pointer, escapes);
		if (escapes.is_empty())
			totals.unused++;
		else if (leave_loop(c->stmt, escapes))
			for (const struct escape &escape : escapes)
				add_handed_on(c, &escape);
		else
			add_made(c, pointer, &o);
	}
}

/* &array[13], passed on: no statement computes this address. */
static struct check *add_constant(struct collector *c, tree address)
{
	struct origin o;
	struct check *check;

	if (TREE_CODE(address) != ADDR_EXPR)
		return NULL;
	o = origin_of(address);
	if (!VAR_P(o.root) || in_variable(&o) || !o.constant || size_of_variable(o.root) < 0)
		return NULL;
	check = new_check(c, o.root, KGCC_ARITH);
	set_bytes(check, o.offset, o.offset);
	return check;
}

/* A PHI's arguments are checked at the end of the incoming blocks. */
static void add_chosen(struct collector *c, gphi *phi)
{
	for (unsigned int i = 0; i < gimple_phi_num_args(phi); i++) {
		edge e = gimple_phi_arg_edge(phi, i);
		struct check *check;

		c->stmt = phi;
		check = e->flags & EDGE_COMPLEX ? NULL : add_constant(c, gimple_phi_arg_def(phi, i));
		if (!check)
			continue;
		check->parts[0].where = gimple_phi_arg_location(phi, i);
		check->end_of = single_succ_p(e->src) ? e->src : split_edge(e);
		check->stmt = NULL;
	}
}

static void add_constants(struct collector *c)
{
	gimple *stmt = c->stmt;

	if (is_gimple_call(stmt))
		for (unsigned int i = 0; i < gimple_call_num_args(stmt); i++)
			add_constant(c, gimple_call_arg(stmt, i));
	else if (gimple_store_p(stmt))
		add_constant(c, gimple_assign_rhs1(stmt));
	else if (greturn *end = dyn_cast<greturn *>(stmt))
		if (gimple_return_retval(end))
			add_constant(c, gimple_return_retval(end));
}

void collect_checks(function *fun, vec<struct check *> &checks)
{
	struct collector c = { checks, NULL, {} };
	struct marked_access access;
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun) {
		for (auto gsi = gsi_start_phis(bb); !gsi_end_p(gsi); gsi_next(&gsi))
			add_chosen(&c, gsi.phi());
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			c.stmt = gsi_stmt(gsi);
			if (is_gimple_debug(c.stmt) || gimple_clobber_p(c.stmt))
				continue;
			if (is_marked_access(c.stmt, &access))
				add_bytes(&c, access.address, access.length, access.flags);
			else if (gimple_code(c.stmt) == GIMPLE_ASM)
				add_operands(&c, as_a<gasm *>(c.stmt));
			else
				walk_stmt_load_store_ops(c.stmt, &c, loads, stores);
			if (is_gimple_call(c.stmt))
				add_memory_function(&c, as_a<gcall *>(c.stmt));
			if (is_arithmetic(c.stmt) || is_integer_arithmetic(c.stmt))
				add_arithmetic(&c);
			add_constants(&c);
		}
	}
}
