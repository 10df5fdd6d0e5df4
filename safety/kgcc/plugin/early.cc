// SPDX-License-Identifier: GPL-2.0
/*
 * Facts that are visible only before inlining, while the kernel's inline functions are still calls:
 * the memory that they access by assembly, and whether their result is the address of an object or
 * of a page.
 */
#include "check.h"

/* Functions that copy from or to user space, or fill: pointer and length arguments. */
static const struct {
	const char *name;
	unsigned int memory, length, flags;
	unsigned int unit;		/* bytes per unit of the length */
} copies[] = {
	{ "raw_copy_from_user", 0, 2, KGCC_WRITE, 1 },
	{ "raw_copy_to_user", 1, 2, KGCC_READ, 1 },
	{ "memset16", 0, 2, KGCC_WRITE, 2 },
	{ "memset32", 0, 2, KGCC_WRITE, 4 },
	{ "memset64", 0, 2, KGCC_WRITE, 8 },
};

/* Bit operations: arguments with the bit's number, and with the address of bit 0. */
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

/* The result of these functions is the address of an object, */
static const char *const makers[] = {
	"sg_virt", "skb_frag_address", "skb_frag_address_safe", "bvec_kmap_local",
	"offset_to_ptr",
};

/* ... and of these of a page: adding to it may lead into an object in the page. */
static const char *const page_makers[] = {
	"lowmem_page_address", "pfn_to_kaddr", "kmap_local_page", "kmap_atomic", "kmap",
};

static const char access_text[] = "# kgcc: accessed";
static const char object_text[] = "# kgcc: of an object";
static const char page_text[] = "# kgcc: of a page";

template <size_t n> static bool is_any(const char *name, const char *const (&names)[n])
{
	for (const char *other : names)
		if (!strcmp(name, other))
			return true;
	return false;
}

/*
 * An access becomes an operand of an empty asm: once its function is inlined and more is known,
 * collect.cc makes it a check like that of other accesses.
 */
static void mark_access(gimple_stmt_iterator *gsi, tree address, tree length, unsigned int flags)
{
	tree inputs[] = { address, length, build_int_cst(unsigned_type_node, flags) };
	static const char *const constraints[] = { "r", "er", "i" };
	vec<tree, va_gc> *in = NULL;
	gasm *code;

	for (unsigned int i = 0; i < ARRAY_SIZE(inputs); i++) {
		tree constraint = build_string(strlen(constraints[i]) + 1, constraints[i]);
		tree value = force_gimple_operand_gsi(gsi, inputs[i], true, NULL_TREE, true,
						      GSI_SAME_STMT);

		vec_safe_push(in, build_tree_list(build_tree_list(NULL_TREE, constraint), value));
	}
	code = gimple_build_asm_vec(access_text, in, NULL, NULL, NULL);
	gimple_asm_set_volatile(code, true);
	gimple_set_location(code, gimple_location(gsi_stmt(*gsi)));
	gsi_insert_before(gsi, code, GSI_SAME_STMT);
}

bool is_marked_access(gimple *stmt, struct marked_access *access)
{
	gasm *code = dyn_cast<gasm *>(stmt);

	if (!code || strcmp(gimple_asm_string(code), access_text))
		return false;
	access->address = TREE_VALUE(gimple_asm_input_op(code, 0));
	access->length = TREE_VALUE(gimple_asm_input_op(code, 1));
	access->flags = tree_to_uhwi(TREE_VALUE(gimple_asm_input_op(code, 2)));
	return true;
}

/* Called once they have been checked. */
void remove_marks(function *fun)
{
	struct marked_access access;
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun)
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi);)
			if (is_marked_access(gsi_stmt(gsi), &access))
				gsi_remove(&gsi, true);
			else
				gsi_next(&gsi);
}

static bool mark_copy(gimple_stmt_iterator *gsi, const char *name)
{
	gcall *call = as_a<gcall *>(gsi_stmt(*gsi));
	tree length;

	for (const auto &copy : copies) {
		if (strcmp(name, copy.name) || gimple_call_num_args(call) <= copy.length)
			continue;
		length = fold_convert(sizetype, gimple_call_arg(call, copy.length));
		length = fold_build2(MULT_EXPR, sizetype, length, size_int(copy.unit));
		mark_access(gsi, gimple_call_arg(call, copy.memory), length, copy.flags);
		return true;
	}
	return false;
}

/* Marks the byte that contains the bit. */
static bool mark_bit(gimple_stmt_iterator *gsi, const char *name)
{
	gcall *call = as_a<gcall *>(gsi_stmt(*gsi));
	tree number, byte;

	for (const auto &bit : bits) {
		if (strcmp(name, bit.name) || gimple_call_num_args(call) < 2)
			continue;
		number = fold_convert(long_integer_type_node, gimple_call_arg(call, 0));
		byte = fold_build2(RSHIFT_EXPR, long_integer_type_node, number,
				   build_int_cst(integer_type_node, 3));
		mark_access(gsi, fold_build_pointer_plus(gimple_call_arg(call, 1), byte),
			    size_one_node, bit.flags);
		return true;
	}
	return false;
}

/* The result passes through an empty asm, which hides its origin. */
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
	if (mark_copy(gsi, name) || mark_bit(gsi, name))
		return true;
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
