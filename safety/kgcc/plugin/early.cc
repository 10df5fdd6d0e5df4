// SPDX-License-Identifier: GPL-2.0
/*
 * What can be seen only before inlining, while inline functions of the kernel are still
 * calls: which memory they access by assembly, and whether their result is the address of
 * an object or that of a page.
 */
#include "check.h"

/* Functions that copy from and to user space, or fill: their memory, and the length. */
static const struct {
	const char *name;
	unsigned int memory, length, flags;
	unsigned int unit;		/* bytes that the length counts */
} copies[] = {
	{ "raw_copy_from_user", 0, 2, KGCC_WRITE, 1 },
	{ "raw_copy_to_user", 1, 2, KGCC_READ, 1 },
	{ "memset16", 0, 2, KGCC_WRITE, 2 },
	{ "memset32", 0, 2, KGCC_WRITE, 4 },
	{ "memset64", 0, 2, KGCC_WRITE, 8 },
};

/* Functions of the number of a bit, and of where bit 0 is. */
static const struct {
	const char *name;
	unsigned int flags;
} bits[] = {
	{ "arch_set_bit", KGCC_READ | KGCC_WRITE },
	{ "arch_clear_bit", KGCC_READ | KGCC_WRITE },
	{ "arch_change_bit", KGCC_READ | KGCC_WRITE },
	{ "arch_clear_bit_unlock", KGCC_READ | KGCC_WRITE },
	{ "arch_test_and_set_bit", KGCC_READ | KGCC_WRITE },
	{ "arch_test_and_set_bit_lock", KGCC_READ | KGCC_WRITE },
	{ "arch_test_and_clear_bit", KGCC_READ | KGCC_WRITE },
	{ "arch_test_and_change_bit", KGCC_READ | KGCC_WRITE },
	{ "arch___set_bit", KGCC_READ | KGCC_WRITE },
	{ "arch___clear_bit", KGCC_READ | KGCC_WRITE },
	{ "arch___change_bit", KGCC_READ | KGCC_WRITE },
	{ "arch___test_and_set_bit", KGCC_READ | KGCC_WRITE },
	{ "arch___test_and_clear_bit", KGCC_READ | KGCC_WRITE },
	{ "arch___test_and_change_bit", KGCC_READ | KGCC_WRITE },
	{ "variable_test_bit", KGCC_READ },
};

/* Their result is an object's address, whatever it was computed from, ... */
static const char *const makers[] = {
	"sg_virt", "skb_frag_address", "skb_frag_address_safe", "bvec_kmap_local",
	"offset_to_ptr",
};

/* ... or that of a page: what is added to it may lead into an object there. */
static const char *const page_makers[] = {
	"lowmem_page_address", "pfn_to_kaddr", "kmap_local_page", "kmap_atomic", "kmap",
};

static const char object_text[] = "# kgcc: of an object";
static const char page_text[] = "# kgcc: of a page";

template <size_t n> static bool is_any(const char *name, const char *const (&names)[n])
{
	for (const char *other : names)
		if (!strcmp(name, other))
			return true;
	return false;
}

static void check_copy(gimple_stmt_iterator *gsi, const char *name)
{
	gcall *call = as_a<gcall *>(gsi_stmt(*gsi));
	tree length;

	for (const auto &copy : copies) {
		if (strcmp(name, copy.name) || gimple_call_num_args(call) <= copy.length)
			continue;
		length = fold_convert(sizetype, gimple_call_arg(call, copy.length));
		length = fold_build2(MULT_EXPR, sizetype, length, size_int(copy.unit));
		emit_length(gsi, gimple_location(call), gimple_call_arg(call, copy.memory),
			    length, copy.flags);
	}
}

/* The byte that the bit is in. */
static void check_bit(gimple_stmt_iterator *gsi, const char *name)
{
	gcall *call = as_a<gcall *>(gsi_stmt(*gsi));
	tree number, memory, byte;

	for (const auto &bit : bits) {
		if (strcmp(name, bit.name) || gimple_call_num_args(call) < 2)
			continue;
		number = fold_convert(long_integer_type_node, gimple_call_arg(call, 0));
		memory = gimple_call_arg(call, 1);
		byte = fold_build2(RSHIFT_EXPR, long_integer_type_node, number,
				   build_int_cst(integer_type_node, 3));
		emit_bounds(gsi, gimple_location(call), memory,
			    fold_build_pointer_plus(memory, byte), 1, bit.flags);
	}
}

/* The result goes through assembly that is empty: where it came from is hidden. */
static void hide_origin(gimple_stmt_iterator *gsi, const char *text)
{
	gcall *call = as_a<gcall *>(gsi_stmt(*gsi));
	tree result = gimple_call_lhs(call), hidden;
	vec<tree, va_gc> *in = NULL, *out = NULL;
	gasm *code;

	if (!result || TREE_CODE(result) != SSA_NAME || stmt_ends_bb_p(call))
		return;
	hidden = make_ssa_name(TREE_TYPE(result));
	gimple_call_set_lhs(call, hidden);
	update_stmt(call);
	vec_safe_push(out, build_tree_list(build_tree_list(NULL_TREE, build_string(3, "=r")),
					   result));
	vec_safe_push(in, build_tree_list(build_tree_list(NULL_TREE, build_string(2, "0")),
					  hidden));
	code = gimple_build_asm_vec(text, in, out, NULL, NULL);
	gimple_set_location(code, gimple_location(call));
	SSA_NAME_DEF_STMT(result) = code;
	gsi_insert_after(gsi, code, GSI_NEW_STMT);
}

bool is_of_page(tree root)
{
	gasm *code = root && TREE_CODE(root) == SSA_NAME
		     ? dyn_cast<gasm *>(SSA_NAME_DEF_STMT(root)) : NULL;

	return code && !strcmp(gimple_asm_string(code), page_text);
}

static bool look_at(gimple_stmt_iterator *gsi)
{
	gimple *stmt = gsi_stmt(*gsi);
	tree callee = is_gimple_call(stmt) ? gimple_call_fndecl(stmt) : NULL_TREE;
	const char *name;

	if (!callee || !DECL_NAME(callee))
		return false;
	name = IDENTIFIER_POINTER(DECL_NAME(callee));
	check_copy(gsi, name);
	check_bit(gsi, name);
	if (is_any(name, makers))
		hide_origin(gsi, object_text);
	else if (is_any(name, page_makers))
		hide_origin(gsi, page_text);
	else
		return false;
	return true;
}

bool look_early(function *fun)
{
	bool changed = false;
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun)
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
			changed |= look_at(&gsi);
	if (changed)
		mark_virtual_operands_for_renaming(fun);
	return changed;
}
