// SPDX-License-Identifier: GPL-2.0
/*
 * Emits a check: a static key's nop, arguments in registers that are seldom live, and a call of the
 * runtime's assembly, which preserves all other registers.
 */
#include "check.h"

#define WORD	UNITS_PER_WORD

/* -- constants ------------------------------------------------------------------ */

/* The address of a string in the module. */
tree text_constant(const char *text)
{
	return build_string_literal(strlen(text) + 1, text);
}

static const char *short_name(const char *file)
{
	const char *in_include = strstr(file, "/include/");
	const char *slash = strrchr(file, '/');

	if (in_include)
		return in_include + 1;
	return slash ? slash + 1 : file;
}

/* The call in the outermost function from which the rest was inlined. */
static expanded_location outermost(location_t where)
{
	expanded_location outer = {};

	for (tree block = LOCATION_BLOCK(where); block && TREE_CODE(block) == BLOCK;
	     block = BLOCK_SUPERCONTEXT(block))
		if (inlined_function_outer_scope_p(block) &&
		    BLOCK_SOURCE_LOCATION(block) > BUILTINS_LOCATION)
			outer = expand_location(BLOCK_SOURCE_LOCATION(block));
	return outer;
}

/* The innermost location outside the kernel's headers. */
static expanded_location innermost(location_t where)
{
	expanded_location at = expand_location(where);

	for (tree block = LOCATION_BLOCK(where);
	     block && TREE_CODE(block) == BLOCK && (!at.file || strstr(at.file, "include/"));
	     block = BLOCK_SUPERCONTEXT(block))
		if (inlined_function_outer_scope_p(block) &&
		    BLOCK_SOURCE_LOCATION(block) > BUILTINS_LOCATION)
			at = expand_location(BLOCK_SOURCE_LOCATION(block));
	return at;
}

/* file:line of the module's own call, and of the place that its function was inlined into. */
const char *caller_of(location_t where)
{
	expanded_location at = innermost(where), outer = outermost(where);

	if (!at.file)
		return "?";
	if (!outer.file || (at.line == outer.line && !strcmp(at.file, outer.file)))
		return xasprintf("%s:%d", short_name(at.file), at.line);
	return xasprintf("%s:%d < %s:%d", short_name(at.file), at.line, short_name(outer.file),
			 outer.line);
}

/* file:line; for code inlined from a header also that of its caller. */
const char *place_of(location_t where)
{
	expanded_location at = expand_location(where), outer = innermost(where);
	char *text;

	if (!at.file && !outer.file)
		at = outer = expand_location(DECL_SOURCE_LOCATION(current_function_decl));
	if (!at.file || (strstr(at.file, "include/") && !strstr(outer.file, "include/")))
		text = at.file ? xasprintf("%s:%d (%s:%d)", short_name(outer.file), outer.line,
					   short_name(at.file), at.line)
			       : xasprintf("%s:%d", short_name(outer.file), outer.line);
	else
		text = xasprintf("%s:%d", short_name(at.file), at.line);
	return text;
}

/* Words of data in the module; NULL_TREE is zero. */
tree words_constant(const char *name, const vec<tree> &words, bool writable)
{
	tree word = long_unsigned_type_node;
	tree type = build_array_type_nelts(word, words.length());
	tree variable = build_decl(UNKNOWN_LOCATION, VAR_DECL, create_tmp_var_name(name), type);
	vec<constructor_elt, va_gc> *elements = NULL;

	for (unsigned int i = 0; i < words.length(); i++) {
		tree value = words[i] ? fold_convert(word, words[i]) : build_zero_cst(word);

		CONSTRUCTOR_APPEND_ELT(elements, size_int(i), value);
	}
	TREE_STATIC(variable) = 1;
	TREE_PUBLIC(variable) = 0;
	TREE_USED(variable) = 1;
	TREE_ADDRESSABLE(variable) = 1;
	TREE_READONLY(variable) = !writable;
	DECL_ARTIFICIAL(variable) = 1;
	DECL_IGNORED_P(variable) = 1;
	DECL_PRESERVE_P(variable) = 1;
	DECL_INITIAL(variable) = build_constructor(type, elements);
	TREE_CONSTANT(DECL_INITIAL(variable)) = 1;
	TREE_STATIC(DECL_INITIAL(variable)) = 1;
	varpool_node::finalize_decl(variable);
	return variable;
}

static tree word(HOST_WIDE_INT value)
{
	return build_int_cst(long_integer_type_node, value);
}

static tree parts_of(const struct check *check)
{
	auto_vec<tree> words;

	if (check->parts.length() < 2)
		return NULL_TREE;
	for (const struct part &part : check->parts) {
		words.safe_push(word(part.lo));
		words.safe_push(word(part.hi));
		words.safe_push(text_constant(place_of(part.where)));
	}
	return build_fold_addr_expr(words_constant("kgcc_parts", words, false));
}

/* struct kgcc_site */
static tree site_with(const struct check *check, const char *object, unsigned int flags)
{
	auto_vec<tree> words;

	for (const struct part &part : check->parts)
		flags |= part.flags;
	if (is_of_page(check->root))
		flags |= KGCC_PAGE;
	words.safe_grow_cleared(KGCC_SITE_WORDS);
	words[KGCC_SITE_KEY] = words[KGCC_SITE_KEY + 1] = word(1);
	words[KGCC_SITE_HI] = word(check->hi);
	words[KGCC_SITE_FLAGS] =
		word((HOST_WIDE_INT)(((unsigned HOST_WIDE_INT)(KGCC_MAGIC | flags) << 32) |
				     (uint32_t)check->lo));
	words[KGCC_SITE_WHERE] = text_constant(place_of(check->parts[0].where));
	words[KGCC_SITE_PARTS] = parts_of(check);
	words[KGCC_SITE_NPARTS] = word(words[KGCC_SITE_PARTS] ? check->parts.length() : 0);
	words[KGCC_SITE_UNIT] = unit_address();
	words[KGCC_SITE_OBJECT] = object ? text_constant(object) : NULL_TREE;
	return words_constant("kgcc_site", words, true);
}

tree site_of(const struct check *check, const char *object)
{
	return site_with(check, object, 0);
}

/* -- assembly ------------------------------------------------------------------- */

/*
 * A local variable may be bound to a register that checks use, and a check may come between its
 * assignment and the asm that uses it.
 */
bool binds_register(function *fun)
{
	static const char *const clobbered[] = { KGCC_CLOBBERS };
	unsigned int i;
	tree var;

	FOR_EACH_LOCAL_DECL(fun, i, var)
		if (VAR_P(var) && DECL_HARD_REGISTER(var))
			for (const char *name : clobbered)
				if (strstr(IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(var)), name))
					return true;
	return false;
}

/* If a check preserves registers, its inputs are in others. */
static tree operand(const char *constraint, tree value, bool keep)
{
	char *kind = xstrdup(constraint);

	for (char *at = kind; keep && *at; at++)
		*at = *at == 'r' ? 'R' : *at;
	return build_tree_list(build_tree_list(NULL_TREE, build_string(strlen(kind) + 1, kind)),
			       value);
}

static void add_clobber(vec<tree, va_gc> *&clobbers, const char *name)
{
	vec_safe_push(clobbers, build_tree_list(NULL_TREE, build_string(strlen(name) + 1, name)));
}

/* ROOM, if given, is both input and output, and is operand 0. */
static gasm *build_check_asm(std::string text, const vec<std::pair<const char *, tree>> &inputs,
			     bool memory, tree room = NULL_TREE)
{
	static const char *const clobbered[] = { KGCC_CLOBBERS };
	vec<tree, va_gc> *in = NULL, *out = NULL, *clobbers = NULL;
	bool keep = binds_register(cfun);
	gasm *stmt;

	for (const auto &input : inputs)
		vec_safe_push(in, operand(input.first, input.second, keep));
	if (room) {
		vec_safe_push(out, operand("=r", room, keep));
		vec_safe_push(in, operand("0", room, keep));
	}
	if (keep)
		text = "\tpushq %%r8\n\tpushq %%r9\n\tpushq %%r10\n\tpushq %%r11\n" + text +
		       "\tpopq %%r11\n\tpopq %%r10\n\tpopq %%r9\n\tpopq %%r8\n";
	else
		for (const char *name : clobbered)
			add_clobber(clobbers, name);
	add_clobber(clobbers, "cc");
	if (memory)
		add_clobber(clobbers, "memory");
	stmt = gimple_build_asm_vec(text.c_str(), in, out, clobbers, NULL);
	gimple_asm_set_volatile(stmt, true);
	return stmt;
}

/* The nop or jump that a static key patches; initially off or on. */
#define KEY_ON "1:\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#define KEY_OFF "1:\tjmp.d32 2f\n"

static std::string switched(const char *state, const std::string &body, const std::string &key)
{
	return state + body +
	       "2:\n"
	       "\t.pushsection __jump_table, \"aw\"\n"
	       "\t.balign 8\n"
	       "\t.long 1b - ., 2b - .\n"
	       "\t.quad " + key + " + 1 - .\n"
	       "\t.popsection\n";
}

static const char enter_text[] =
	"\tmovq %1, %%r10\n"
	"\tmovq %0, %%r11\n"
	"\tcall kgcc_enter\n";
/* The record is not in the list if the key was off when the function was entered. */
static const char leave_text[] =
	"\tcmpq $0, 8(%0)\n"
	"\tje 1f\n"
	"\tmovq %0, %%r10\n"
	"\tcall kgcc_leave\n"
	"1:\n";
/* For a variable: offset %1 from its start, which must be less than %2. */
static const char within_text[] =
	"\tcmpq %2, %1\n"
	"\tjbe 1f\n"
	"\tmovq %1, %%r10\n"
	"\tmovq %0, %%r11\n"
	"\tcall kgcc_outside\n"
	"1:\n";
/* A stack is aligned to its size, on x86-64 at least this. */
static const char mask_text[] =
	"\tmovq %1, %0\n"
	"\txorq %%rsp, %0\n"
	"\tcmpq $16384, %0\n"
	"\tsbbq %0, %0\n";
static const char outside_text[] =
	"\tmovq %1, %%r10\n"
	"\tmovq %0, %%r11\n"
	"\tcall kgcc_outside\n";

static bool has_user_access(const struct check *check)
{
	gimple *last;

	if (check->stmt)
		return has_user_access(gimple_bb(check->stmt), check->stmt);
	last = last_statement(check->end_of);
	return has_user_access(check->end_of, last && stmt_ends_bb_p(last) ? last : NULL);
}

static void insert(const struct check *check, gimple *stmt)
{
	gimple_stmt_iterator gsi;

	gimple_set_location(stmt, check->parts[0].where);
	if (check->stmt) {
		gsi = gsi_for_stmt(check->stmt);
		if (check->after)
			gsi_insert_after(&gsi, stmt, GSI_NEW_STMT);
		else
			gsi_insert_before(&gsi, stmt, GSI_SAME_STMT);
		return;
	}
	gsi = gsi_last_bb(check->end_of);
	if (!gsi_end_p(gsi) && stmt_ends_bb_p(gsi_stmt(gsi)))
		gsi_insert_before(&gsi, stmt, GSI_SAME_STMT);
	else
		gsi_insert_after(&gsi, stmt, GSI_NEW_STMT);
}

/* For a call: inserting after one statement repeatedly reverses the order. */
static void insert_call(const struct check *check, gimple *stmt)
{
	bool open = has_user_access(check), reverse = check->stmt && check->after;

	if (open)
		insert(check, reverse ? begin_user_access() : end_user_access());
	insert(check, stmt);
	if (open)
		insert(check, reverse ? end_user_access() : begin_user_access());
}

static tree pointer_to(tree root)
{
	if (TREE_CODE(root) == STRING_CST)
		return build_fold_addr_expr(root);
	if (!DECL_P(root))
		return root;
	TREE_ADDRESSABLE(root) = 1;
	return build_fold_addr_expr(root);
}

/* -- against the map ------------------------------------------------------------- */

/* Counts the check's bytes from LO after its address. */
static void count_from(struct check *check, HOST_WIDE_INT lo)
{
	check->lo -= lo;
	check->hi -= lo;
	for (struct part &part : check->parts) {
		part.lo -= lo;
		part.hi -= lo;
	}
}

/* Assembly under construction. Operands are numbered; a room is number 0. */
struct code {
	auto_vec<std::pair<const char *, tree>> in;
	tree room;

	std::string add(const char *constraint, tree value)
	{
		in.safe_push({ constraint, value });
		return std::to_string(in.length() - !room);
	}
};

/* Displacements, and a site's start, must fit. */
static bool fits_32_bits(HOST_WIDE_INT offset)
{
	return offset == (int32_t)offset;
}

/* Loads an address plus OFFSET into %r9. */
static std::string load_address(struct code *code, HOST_WIDE_INT offset,
				const std::string &address)
{
	std::string constant = code->add("i", word(offset));

	if (fits_32_bits(offset))
		return "\tleaq %c" + constant + "(%" + address + "), %%r9\n";
	return "\tmovabsq %" + constant + ", %%r9\n\taddq %" + address + ", %%r9\n";
}

/* Jumps to 2f if all bytes are within the room; the first is at OFFSET from the root. */
static std::string compare_field(struct code *code, HOST_WIDE_INT end)
{
	return "\tcmpq %" + code->add("er", word(end)) + ", %0\n\tjae 2f\n";
}

/*
 * Whether the bytes from LO after an address lie either all before its root or all after it. Such
 * addresses differ from the root by whole steps, so the bytes must be within one step.
 */
static bool is_on_one_side(const struct check *check, HOST_WIDE_INT lo, HOST_WIDE_INT bytes)
{
	HOST_WIDE_INT step = step_between(check->root, check->addr);

	return bytes && (lo & (step - 1)) + bytes <= step;
}

/*
 * The condition for BYTES that begin LO after an address. Bytes that begin before the root are out
 * of bounds: then the last byte lies before it as well, or the end is less than BYTES after it.
 */
static std::string compare_range(struct code *code, const struct check *check,
				 const std::string &root, const std::string &address,
				 HOST_WIDE_INT lo, HOST_WIDE_INT bytes)
{
	bool by_last = is_on_one_side(check, lo, bytes);
	std::string text = load_address(code, lo + bytes - by_last, address) +
			   "\tsubq %" + root + ", %%r9\n"
			   "\tcmpq %0, %%r9\n";

	if (by_last)
		return text + "\tjb 2f\n";
	if (!bytes)
		return text + "\tjbe 2f\n";
	return text + "\tja 3f\n\tcmpq %" + code->add("er", word(bytes)) +
	       ", %%r9\n\tjae 2f\n3:\n";
}

static std::string compare_length(const std::string &root, const std::string &from,
				  const std::string &length)
{
	return from +
	       "\tsubq %" + root + ", %%r9\n"
	       "\tmovq %0, %%r8\n"
	       "\tsubq %%r9, %%r8\n"
	       "\tjb 3f\n"
	       "\tcmpq %" + length + ", %%r8\n"
	       "\tjae 2f\n3:\n";
}

static void emit_lookup(struct check *check)
{
	bool arith = check->parts[0].flags & KGCC_ARITH;
	bool of_root = !check->addr && check->lo >= 0 && fits_32_bits(check->lo);
	HOST_WIDE_INT lo = check->lo, end = check->hi;
	tree pointer = pointer_to(check->root);
	std::string compare, text, site, root, name = "kgcc_field";
	struct code code = {};

	/* Bytes before the root, and those far away, are checked as a range. */
	if (!check->addr && (!of_root || arith))
		check->addr = pointer;
	if (check->addr)
		count_from(check, lo);
	code.room = check->room;
	site = code.add("i", build_fold_addr_expr(site_of(check, NULL)));
	/*
	 * An index register cannot be the stack pointer, which GCC may use once the frame is
	 * eliminated.
	 */
	root = code.add("l", pointer);
	if (check->compares && of_root)
		compare = compare_field(&code, end);
	if (check->addr) {
		std::string address = code.add("r", check->addr);
		std::string from = load_address(&code, lo, address);
		std::string length = check->length ? code.add("r", check->length) : "";

		if (check->compares && !of_root)
			compare = check->length
				  ? compare_length(root, from, length)
				  : compare_range(&code, check, root, address, lo, end - lo);
		text = from;
		if (check->length)
			text += "\tmovq %" + length + ", %%r8\n";
		name = check->length ? "kgcc_length" : "kgcc_range";
	}
	/* There is an entry for each register that the pointer may be in. */
	text += "\tmovq %" + site + ", %%r11\n\tcall " + name + "_%V" + root + "\n";
	if (check->room)
		text += "\tmovq %%r9, %0\n";
	/* A check whose comparison succeeds executes nothing else, not even the key's nop. */
	text = compare + switched(KEY_ON, text, "%c" + site);
	insert_call(check, build_check_asm(text, code.in, false, check->room));
	totals.against_map++;
	totals.compared += check->compares;
}

/* -- against a variable's size ----------------------------------------------------- */

/* An unsigned word, computed right before the check. */
static tree compute(const struct check *check, tree expression)
{
	gimple_seq seq = NULL;
	tree value = force_gimple_operand(fold_convert(long_unsigned_type_node, expression),
					  &seq, true, NULL_TREE);

	for (auto gsi = gsi_start(seq); !gsi_end_p(gsi);) {
		gimple *stmt = gsi_stmt(gsi);

		gsi_remove(&gsi, false);
		insert(check, stmt);
	}
	return value;
}

static void emit_within(const struct check *check, tree site, tree value, tree limit)
{
	auto_vec<std::pair<const char *, tree>> in;

	in.safe_push({ "i", site });
	in.safe_push({ "r", value });
	in.safe_push({ "er", limit });
	insert_call(check, build_check_asm(within_text, in, false));
}

static void emit_outside(const struct check *check, tree site, tree value)
{
	auto_vec<std::pair<const char *, tree>> in;

	in.safe_push({ "i", site });
	in.safe_push({ "er", value });
	insert_call(check, build_check_asm(outside_text, in, false));
}

static const char *name_of_object(tree root)
{
	if (TREE_CODE(root) == STRING_CST)
		return "(string)";
	return DECL_NAME(root) ? IDENTIFIER_POINTER(DECL_NAME(root)) : "?";
}

static void emit_bounded(struct check *check, HOST_WIDE_INT size)
{
	char *object = xasprintf("%s of %ld bytes", name_of_object(check->root), (long)size);
	tree site = build_fold_addr_expr(site_of(check, object));
	tree type = long_unsigned_type_node, offset = word(check->lo);
	HOST_WIDE_INT bytes = check->hi - check->lo;

	if (check->addr) {
		tree start = fold_convert(type, pointer_to(check->root));

		offset = fold_build2(MINUS_EXPR, type, fold_convert(type, check->addr), start);
		offset = fold_build2(PLUS_EXPR, type, offset,
				     build_int_cst(type, check->lo));
		offset = compute(check, offset);
	}
	if (check->length) {
		tree length = compute(check, check->length);
		tree left = compute(check, fold_build2(MINUS_EXPR, type, word(size), length));

		emit_within(check, build_fold_addr_expr(site_with(check, object, KGCC_LENGTH)),
			    length, word(size));
		emit_within(check, site, compute(check, offset), left);
	} else if (check->addr && bytes <= size) {
		emit_within(check, site, offset, word(size - bytes));
	} else {
		emit_outside(check, site, offset);
	}
}

bool calls_outside(gimple *stmt)
{
	gasm *code = dyn_cast<gasm *>(stmt);

	return code && !strcmp(gimple_asm_string(code), outside_text);
}

/* An index outside a member: reached only in that case. */
void emit_member(gimple_stmt_iterator *gsi, location_t where, tree index, const char *name,
		 unsigned int flags)
{
	auto_vec<std::pair<const char *, tree>> in;
	struct check check = {};
	gimple *stmt;
	tree site;

	check.parts.safe_push({ 0, 0, where, flags | KGCC_MEMBER });
	site = site_of(&check, name);
	/* Let it be removed with the last comparison that the compiler keeps. */
	DECL_PRESERVE_P(site) = 0;
	in.safe_push({ "i", build_fold_addr_expr(site) });
	in.safe_push({ "er", index });
	stmt = build_check_asm(outside_text, in, false);
	gimple_set_location(stmt, where);
	gsi_insert_after(gsi, stmt, GSI_NEW_STMT);
}

/* All ones if a pointer points into the current stack, else 0. */
gimple *mask_of_stack(tree mask, tree pointer)
{
	vec<tree, va_gc> *in = NULL, *out = NULL, *clobbers = NULL;

	vec_safe_push(out, operand("=&r", mask, false));
	vec_safe_push(in, operand("r", pointer, false));
	add_clobber(clobbers, "cc");
	return gimple_build_asm_vec(mask_text, in, out, clobbers, NULL);
}

void emit_check(struct check *check)
{
	bool known = TREE_CODE(check->root) == STRING_CST ||
		     (DECL_P(check->root) && !DECL_EXTERNAL(check->root));
	HOST_WIDE_INT size = size_of_object(check->root);

	totals.emitted++;
	if (size >= 0 && known && !(check->parts[0].flags & KGCC_ARITH))
		emit_bounded(check, size);
	else
		emit_lookup(check);
}

/* Links the record of a function's locals into the task's list, and unlinks it. */
void emit_enter(gimple_stmt_iterator *gsi, const struct check *site, tree record)
{
	auto_vec<std::pair<const char *, tree>> in;

	in.safe_push({ "i", build_fold_addr_expr(site_of(site, NULL)) });
	in.safe_push({ "r", build_fold_addr_expr(record) });
	gsi_insert_before(gsi, build_check_asm(switched(KEY_ON, enter_text, "%c0"), in, true),
			  GSI_SAME_STMT);
}

void emit_leave(gimple_stmt_iterator *gsi, tree record)
{
	auto_vec<std::pair<const char *, tree>> in;

	in.safe_push({ "r", build_fold_addr_expr(record) });
	gsi_insert_before(gsi, build_check_asm(leave_text, in, true), GSI_SAME_STMT);
}

/* -- of rules ------------------------------------------------------------------------- */

/*
 * Checks bytes from an address, in the object of a pointer or, if that is NULL, the address's own.
 */
void emit_bounds(gimple_stmt_iterator *gsi, location_t where, tree pointer, tree address,
		 HOST_WIDE_INT size, unsigned int flags)
{
	struct check check = {};

	address = force_gimple_operand_gsi(gsi, address, true, NULL_TREE, true, GSI_SAME_STMT);
	check.stmt = gsi_stmt(*gsi);
	check.root = pointer ? pointer : address;
	check.addr = address;
	check.hi = size;
	check.parts.safe_push({ 0, size, where, flags });
	emit_lookup(&check);
}

/* The jump taken if a relation holds. */
static const char *jump_of(const char *relation, bool is_signed)
{
	static const struct {
		const char *relation, *of_signed, *of_unsigned;
	} jumps[] = {
		{ "==", "je", "je" }, { "!=", "jne", "jne" }, { "<", "jl", "jb" },
		{ "<=", "jle", "jbe" }, { ">", "jg", "ja" }, { ">=", "jge", "jae" },
	};

	for (const auto &jump : jumps)
		if (!strcmp(jump.relation, relation))
			return is_signed ? jump.of_signed : jump.of_unsigned;
	gcc_unreachable();
}

static tree word_at(gimple_stmt_iterator *gsi, tree value)
{
	value = value ? fold_convert(long_integer_type_node, value) : word(0);
	return force_gimple_operand_gsi(gsi, value, true, NULL_TREE, true, GSI_SAME_STMT);
}

/* A rule's check of a value, with the text for reports. */
void emit_compare(gimple_stmt_iterator *gsi, location_t where, tree value,
		  const char *relation, HOST_WIDE_INT number, const char *text)
{
	const char *jump = jump_of(relation, !TYPE_UNSIGNED(TREE_TYPE(value)));
	auto_vec<std::pair<const char *, tree>> in;
	struct check check = {};
	std::string body;
	gimple *stmt;

	check.parts.safe_push({ 0, 0, where, KGCC_RULE });
	in.safe_push({ "i", build_fold_addr_expr(site_of(&check, text)) });
	in.safe_push({ "r", word_at(gsi, value) });
	in.safe_push({ "e", word(number) });
	body = "\tcmpq %2, %1\n\t" + std::string(jump) + " 2f\n"
	       "\tmovq %1, %%r10\n"
	       "\tmovq %0, %%r11\n"
	       "\tcall kgcc_rule\n";
	stmt = build_check_asm(switched(KEY_ON, body, "%c0"), in, false);
	gimple_set_location(stmt, where);
	gsi_insert_before(gsi, stmt, GSI_SAME_STMT);
}

/* Calls evmon_event(site, object, value) while there is a listener. */
static const char event_text[] =
	"\tpushq %%rax\n\tpushq %%rcx\n\tpushq %%rdx\n\tpushq %%rsi\n\tpushq %%rdi\n"
	"\tmovq %0, %%rdi\n"
	"\tcall evmon_event\n"
	"\tpopq %%rdi\n\tpopq %%rsi\n\tpopq %%rdx\n\tpopq %%rcx\n\tpopq %%rax\n";

/* &__this_module, which most files declare already. */
static tree this_module(void)
{
	symtab_node *node = symtab_node::get_for_asmname(get_identifier("__this_module"));
	tree var;

	if (node)
		return build_fold_addr_expr(node->decl);
	var = build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier("__this_module"),
			 char_type_node);
	DECL_EXTERNAL(var) = TREE_PUBLIC(var) = TREE_STATIC(var) = TREE_ADDRESSABLE(var) = 1;
	DECL_ARTIFICIAL(var) = 1;
	return build_fold_addr_expr(var);
}

/* struct evmon_site, of ../../evmon/event.h */
static tree event_site(unsigned int type, location_t where, const char *name)
{
	expanded_location at = expand_location(where);
	auto_vec<tree> words;

	words.safe_push(text_constant(at.file ? short_name(at.file) : "?"));
	words.safe_push(text_constant(name));
	words.safe_push(this_module());
	words.safe_push(word((HOST_WIDE_INT)type << 32 | at.line));
	words.safe_push(NULL_TREE);
	return build_fold_addr_expr(words_constant("kgcc_event", words, true));
}

void emit_event(gimple_stmt_iterator *gsi, unsigned int type, location_t where,
		const char *name, tree object, tree value)
{
	auto_vec<std::pair<const char *, tree>> in;
	gimple *stmt;

	in.safe_push({ "i", event_site(type, where, name) });
	in.safe_push({ "S", word_at(gsi, object) });
	in.safe_push({ "d", word_at(gsi, value) });
	stmt = build_check_asm(switched(KEY_OFF, event_text, "evmon_on"), in, true);
	gimple_set_location(stmt, where);
	gsi_insert_before(gsi, stmt, GSI_SAME_STMT);
}
