// SPDX-License-Identifier: GPL-2.0
/*
 * Variables of the file. A byte is added after those that may have pointers to them, so that the
 * end of one is not the start of the next. A table in the module lists the variables' addresses and
 * their sizes without that byte, and strings.
 *
 * The table is written as assembly, so that to the compiler no address in it is taken.
 */
#include "check.h"

/* The label of the table. */
static tree label;
/* String literals that pointers may point to, each with a text of its place. */
static tree strings;

static const struct ggc_root_tab roots[] = {
	{ &label, 1, sizeof(label), gt_ggc_mx_tree_node, gt_pch_nx_tree_node },
	{ &strings, 1, sizeof(strings), gt_ggc_mx_tree_node, gt_pch_nx_tree_node },
	LAST_GGC_ROOT_TAB
};

/* An attribute name that no source can contain. */
#define PADDED	"kgcc padded"

static bool is_padded(tree var)
{
	return lookup_attribute(PADDED, DECL_ATTRIBUTES(var));
}

/* May a byte be added after VAR? Not if other code depends on its size. */
static bool can_pad(tree var)
{
	tree size = DECL_SIZE_UNIT(var);

	return VAR_P(var) && (AGGREGATE_TYPE_P(TREE_TYPE(var)) || TREE_ADDRESSABLE(var)) &&
	       !DECL_SECTION_NAME(var) &&
	       !DECL_REGISTER(var) && !DECL_HARD_REGISTER(var) && !DECL_VIRTUAL_P(var) &&
	       !DECL_IN_CONSTANT_POOL(var) && !DECL_COMMON(var) && size &&
	       tree_fits_uhwi_p(size) && tree_to_uhwi(size);
}

void pad_variable(tree var)
{
	if (!can_pad(var) || is_padded(var))
		return;
	DECL_ATTRIBUTES(var) = tree_cons(get_identifier(PADDED), NULL_TREE, DECL_ATTRIBUTES(var));
	DECL_SIZE_UNIT(var) = size_int(tree_to_uhwi(DECL_SIZE_UNIT(var)) + 1);
	DECL_SIZE(var) = bitsize_int(tree_to_uhwi(DECL_SIZE_UNIT(var)) * BITS_PER_UNIT);
}

/* -1: the size is unknown here. */
HOST_WIDE_INT size_of_variable(tree var)
{
	tree size = DECL_SIZE_UNIT(var);

	if (!size || !tree_fits_shwi_p(size))
		return -1;
	return tree_to_shwi(size) - is_padded(var);
}

/* The size of a root: a variable, or a string literal; -1: neither. */
HOST_WIDE_INT size_of_object(tree root)
{
	if (TREE_CODE(root) == STRING_CST)
		return TREE_STRING_LENGTH(root);
	return DECL_P(root) ? size_of_variable(root) : -1;
}

static void pad_variables(void *, void *)
{
	varpool_node *node;

	/* modpost reads the size of a device table through an alias. */
	FOR_EACH_DEFINED_VARIABLE(node)
		if (!node->alias && !node->has_aliases_p())
			pad_variable(node->decl);
}

static tree make_label(void)
{
	tree var = build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier("kgcc_unit"),
			      long_unsigned_type_node);

	SET_DECL_ASSEMBLER_NAME(var, get_identifier("*.Lkgcc_unit"));
	DECL_EXTERNAL(var) = 1;
	TREE_STATIC(var) = 1;
	DECL_ARTIFICIAL(var) = 1;
	TREE_ADDRESSABLE(var) = 1;
	return var;
}

/* The address of the table, to store in sites. */
tree unit_address(void)
{
	if (!label)
		label = make_label();
	return build_fold_addr_expr(label);
}

static void write_text(const char *text)
{
	fputs("\t.pushsection .rodata.str1.1, \"aMS\", @progbits, 1\n9:\t.string\t", asm_out_file);
	output_quoted_string(asm_out_file, text);
	fputs("\n\t.popsection\n\t.quad\t9b\n", asm_out_file);
}

/* -- strings ---------------------------------------------------------------------- */

static tree find_strings(tree *expression, int *, void *data)
{
	location_t where = *(location_t *)data;

	if (TREE_CODE(*expression) == STRING_CST) {
		const char *place = place_of(where);

		strings = tree_cons(build_string(strlen(place) + 1, place), *expression, strings);
	}
	return NULL_TREE;
}

/* printk() and the like do not store pointers into their format. */
static bool has_format(gimple *stmt)
{
	return is_gimple_call(stmt) && gimple_call_fntype(stmt) &&
	       stdarg_p(gimple_call_fntype(stmt));
}

void register_strings(function *fun)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun) {
		for (auto gsi = gsi_start_phis(bb); !gsi_end_p(gsi); gsi_next(&gsi))
			for (unsigned int i = 0; i < gimple_phi_num_args(gsi.phi()); i++) {
				location_t where = gimple_phi_arg_location(gsi.phi(), i);

				walk_tree(gimple_phi_arg_def_ptr(gsi.phi(), i), find_strings,
					  &where, NULL);
			}
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			gimple *stmt = gsi_stmt(gsi);
			location_t where = gimple_location(stmt);

			if (is_gimple_debug(stmt) || gimple_code(stmt) == GIMPLE_ASM ||
			    has_format(stmt))
				continue;
			for (unsigned int i = 0; i < gimple_num_ops(stmt); i++)
				walk_tree(gimple_op_ptr(stmt, i), find_strings, &where, NULL);
		}
	}
}

/* String literals that variables point to: tables of names. */
static void find_strings_of_variables(void)
{
	varpool_node *node;

	FOR_EACH_DEFINED_VARIABLE(node) {
		location_t where = DECL_SOURCE_LOCATION(node->decl);

		if (!DECL_ARTIFICIAL(node->decl) && DECL_INITIAL(node->decl) &&
		    DECL_INITIAL(node->decl) != error_mark_node && !DECL_SECTION_NAME(node->decl))
			walk_tree_without_duplicates(&DECL_INITIAL(node->decl), find_strings, &where);
	}
}

static void write_string(tree string, tree place, std::set<std::string> &written)
{
	rtx memory = lookup_constant_def(string);
	rtx symbol = memory ? XEXP(memory, 0) : NULL_RTX;
	tree decl;

	if (!symbol || GET_CODE(symbol) != SYMBOL_REF || !SYMBOL_REF_DECL(symbol))
		return;
	decl = SYMBOL_REF_DECL(symbol);
	if (!DECL_P(decl) || !DECL_INITIAL(decl) || !TREE_ASM_WRITTEN(DECL_INITIAL(decl)) ||
	    !written.insert(XSTR(symbol, 0)).second)
		return;
	fputs("\t.quad\t", asm_out_file);
	assemble_name(asm_out_file, XSTR(symbol, 0));
	fprintf(asm_out_file, "\n\t.quad\t%d\n", TREE_STRING_LENGTH(string));
	write_text("(string)");
	write_text(TREE_STRING_POINTER(place));
}

static void write_strings(void)
{
	std::set<std::string> written;

	find_strings_of_variables();
	for (tree string = strings; string; string = TREE_CHAIN(string))
		write_string(TREE_VALUE(string), TREE_PURPOSE(string), written);
}

static void write_variable(tree var)
{
	fputs("\t.quad\t", asm_out_file);
	assemble_name(asm_out_file, XSTR(XEXP(DECL_RTL(var), 0), 0));
	fprintf(asm_out_file, "\n\t.quad\t" HOST_WIDE_INT_PRINT_DEC "\n", size_of_variable(var));
	write_text(IDENTIFIER_POINTER(DECL_NAME(var)));
	write_text(place_of(DECL_SOURCE_LOCATION(var)));
}

/* A per-CPU variable has several addresses, and one that the linker discards has none. */
static bool has_no_address(tree var)
{
	const char *section = DECL_SECTION_NAME(var);

	return section && (strstr(section, "percpu") || strstr(section, ".discard"));
}

static bool is_written(tree var)
{
	return VAR_P(var) && TREE_ASM_WRITTEN(var) && !DECL_ARTIFICIAL(var) && DECL_NAME(var) &&
	       DECL_RTL_SET_P(var) && MEM_P(DECL_RTL(var)) &&
	       GET_CODE(XEXP(DECL_RTL(var), 0)) == SYMBOL_REF && size_of_variable(var) > 0 &&
	       !has_no_address(var);
}

/* Four words for each: address, size, name, file:line. A zero address ends the table. */
static void write_unit(void *, void *)
{
	varpool_node *node;

	if (!label)
		return;
	fputs("\t.pushsection .data.rel.ro.kgcc, \"aw\"\n\t.balign 8\n.Lkgcc_unit:\n",
	      asm_out_file);
	FOR_EACH_VARIABLE(node)
		if (is_written(node->decl))
			write_variable(node->decl);
	write_strings();
	fputs("\t.quad\t0, 0, 0, 0\n\t.popsection\n", asm_out_file);
}

void register_globals(const char *plugin)
{
	register_callback(plugin, PLUGIN_REGISTER_GGC_ROOTS, NULL, (void *)roots);
	register_callback(plugin, PLUGIN_ALL_IPA_PASSES_START, pad_variables, NULL);
	register_callback(plugin, PLUGIN_FINISH_UNIT, write_unit, NULL);
}
