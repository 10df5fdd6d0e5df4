// SPDX-License-Identifier: GPL-2.0
/*
 * Redirects allocations of instrumented code: calls of the kernel's functions become calls of the
 * runtime's, with the caller's place. This pass runs after inlining, so the functions that matter
 * are those that the kernel's many inline wrappers call.
 */
#include "check.h"

/*
 * How a replacement's arguments are found; the first is always the place of the call. Kernels
 * differ in the other arguments, so they are recognised by their types.
 */
enum kind {
	SAME,			/* the call's own, all of them */
	SIZED,			/* size, flags, node */
	RESIZED,		/* pointer, size, flags */
	RESIZED_FROM,		/* the same; the first size may be the old one */
	CACHED,			/* cache, list_lru, flags, node */
	/* These leave the call in place and add one ... */
	NOTED,			/* ... after it: result, size */
	NOTED_ARRAY,		/* ... after it: result, product of the first two */
	NOTED_PAGES,		/* ... after it: result, page order */
	NOTED_ORDER,		/* the same, for a function that returns an address */
	FORGOTTEN,		/* ... before it: first argument */
	FORGOTTEN_PAGES,	/* ... before it: page, order */
	ANNOUNCED,		/* ... before it: none */
	KEPT,			/* or none: the function does not pass the cache on */
};

static const struct hook {
	const char *name;	/* the kernel's name, without _noprof */
	enum kind kind;
	const char *replacement;
} hooks[] = {
	{ "__kmalloc", SIZED, "kgcc_kmalloc" },
	{ "__kmalloc_node", SIZED, "kgcc_kmalloc" },
	{ "__kmalloc_node_track_caller", SIZED, "kgcc_kmalloc" },
	{ "kmalloc_trace", SIZED, "kgcc_kmalloc" },
	{ "kmalloc_node_trace", SIZED, "kgcc_kmalloc" },
	{ "kmalloc_large", SIZED, "kgcc_kmalloc" },
	{ "kmalloc_large_node", SIZED, "kgcc_kmalloc" },
	{ "__kmalloc_cache", SIZED, "kgcc_kmalloc" },
	{ "__kmalloc_cache_node", SIZED, "kgcc_kmalloc" },
	{ "__kmalloc_large", SIZED, "kgcc_kmalloc" },
	{ "__kmalloc_large_node", SIZED, "kgcc_kmalloc" },
	{ "kvmalloc_node", SIZED, "kgcc_kvmalloc" },
	{ "__kvmalloc_node", SIZED, "kgcc_kvmalloc" },
	{ "krealloc", RESIZED, "kgcc_krealloc" },
	{ "krealloc_node_align", RESIZED, "kgcc_krealloc" },
	{ "kvrealloc", RESIZED_FROM, "kgcc_kvrealloc" },
	{ "kvrealloc_node_align", RESIZED, "kgcc_kvrealloc" },
	{ "vrealloc_node_align", RESIZED, "kgcc_vrealloc" },
	{ "kfree", SAME, "kgcc_kfree" },
	{ "kvfree", SAME, "kgcc_kvfree" },
	{ "kfree_sensitive", SAME, "kgcc_kfree_sensitive" },
	{ "kvfree_sensitive", SAME, "kgcc_kvfree_sensitive" },
	{ "ksize", SAME, "kgcc_ksize" },
	{ "kstrdup", SAME, "kgcc_kstrdup" },
	{ "kstrndup", SAME, "kgcc_kstrndup" },
	{ "kmemdup", SAME, "kgcc_kmemdup" },
	{ "kmemdup_nul", SAME, "kgcc_kmemdup_nul" },
	{ "memdup_user", SAME, "kgcc_memdup_user" },
	{ "memdup_user_nul", SAME, "kgcc_memdup_user_nul" },
	{ "strndup_user", SAME, "kgcc_strndup_user" },
	{ "kasprintf", SAME, "kgcc_kasprintf" },
	{ "kvasprintf", SAME, "kgcc_kvasprintf" },
	{ "strlen", SAME, "kgcc_strlen" },
	{ "strnlen", SAME, "kgcc_strnlen" },
	{ "strcmp", SAME, "kgcc_strcmp" },
	{ "strncmp", SAME, "kgcc_strncmp" },
	{ "strcasecmp", SAME, "kgcc_strcasecmp" },
	{ "strncasecmp", SAME, "kgcc_strncasecmp" },
	{ "strchr", SAME, "kgcc_strchr" },
	{ "strrchr", SAME, "kgcc_strrchr" },
	{ "strstr", SAME, "kgcc_strstr" },
	{ "strsep", SAME, "kgcc_strsep" },
	{ "strspn", SAME, "kgcc_strspn" },
	{ "strcspn", SAME, "kgcc_strcspn" },
	{ "strpbrk", SAME, "kgcc_strpbrk" },
	{ "strchrnul", SAME, "kgcc_strchrnul" },
	{ "strnchr", SAME, "kgcc_strnchr" },
	{ "skip_spaces", SAME, "kgcc_skip_spaces" },
	{ "strim", SAME, "kgcc_strim" },
	{ "strreplace", SAME, "kgcc_strreplace" },
	{ "argv_split", SAME, "kgcc_argv_split" },
	{ "kstrdup_const", SAME, "kgcc_kstrdup_const" },
	{ "kvasprintf_const", SAME, "kgcc_kvasprintf_const" },
	{ "mac_pton", SAME, "kgcc_mac_pton" },
	{ "strnstr", SAME, "kgcc_strnstr" },
	{ "sysfs_streq", SAME, "kgcc_sysfs_streq" },
	{ "match_string", SAME, "kgcc_match_string" },
	{ "kstrtoull", SAME, "kgcc_kstrtoull" },
	{ "kstrtoll", SAME, "kgcc_kstrtoll" },
	{ "_kstrtoul", SAME, "kgcc__kstrtoul" },
	{ "_kstrtol", SAME, "kgcc__kstrtol" },
	{ "kstrtouint", SAME, "kgcc_kstrtouint" },
	{ "kstrtoint", SAME, "kgcc_kstrtoint" },
	{ "kstrtou16", SAME, "kgcc_kstrtou16" },
	{ "kstrtos16", SAME, "kgcc_kstrtos16" },
	{ "kstrtou8", SAME, "kgcc_kstrtou8" },
	{ "kstrtos8", SAME, "kgcc_kstrtos8" },
	{ "kstrtobool", SAME, "kgcc_kstrtobool" },
	{ "simple_strtoull", SAME, "kgcc_simple_strtoull" },
	{ "simple_strtoul", SAME, "kgcc_simple_strtoul" },
	{ "simple_strtol", SAME, "kgcc_simple_strtol" },
	{ "simple_strtoll", SAME, "kgcc_simple_strtoll" },
	{ "memparse", SAME, "kgcc_memparse" },
	{ "get_option", SAME, "kgcc_get_option" },
	{ "get_options", SAME, "kgcc_get_options" },
	{ "__sysfs_match_string", SAME, "kgcc_sysfs_match_string" },
	{ "strcpy", SAME, "kgcc_strcpy" },
	{ "strncpy", SAME, "kgcc_strncpy" },
	{ "strlcpy", SAME, "kgcc_strlcpy" },
	{ "strscpy", SAME, "kgcc_strscpy" },
	{ "sized_strscpy", SAME, "kgcc_strscpy" },
	{ "strcat", SAME, "kgcc_strcat" },
	{ "strncat", SAME, "kgcc_strncat" },
	{ "strlcat", SAME, "kgcc_strlcat" },
	{ "sprintf", SAME, "kgcc_sprintf" },
	{ "snprintf", SAME, "kgcc_snprintf" },
	{ "scnprintf", SAME, "kgcc_scnprintf" },
	{ "vsprintf", SAME, "kgcc_vsprintf" },
	{ "vsnprintf", SAME, "kgcc_vsnprintf" },
	{ "vscnprintf", SAME, "kgcc_vscnprintf" },
	{ "sscanf", SAME, "kgcc_sscanf" },
	{ "vsscanf", SAME, "kgcc_vsscanf" },
	{ "strncpy_from_user", SAME, "kgcc_strncpy_from_user" },
	{ "kmem_cache_create", SAME, "kgcc_cache_create" },
	{ "kmem_cache_create_usercopy", SAME, "kgcc_cache_create_usercopy" },
	{ "__kmem_cache_create_args", SAME, "kgcc_cache_create_args" },
	{ "kmem_cache_destroy", SAME, "kgcc_cache_destroy" },
	{ "kmem_cache_alloc", CACHED, "kgcc_cache_alloc" },
	{ "kmem_cache_alloc_lru", CACHED, "kgcc_cache_alloc" },
	{ "kmem_cache_alloc_node", CACHED, "kgcc_cache_alloc" },
	{ "kmem_cache_free", SAME, "kgcc_cache_free" },
	{ "kmem_cache_shrink", KEPT, NULL },
	{ "kmem_cache_size", KEPT, NULL },
	{ "vmalloc", NOTED, "kgcc_note" },
	{ "vzalloc", NOTED, "kgcc_note" },
	{ "vmalloc_user", NOTED, "kgcc_note" },
	{ "vmalloc_node", NOTED, "kgcc_note" },
	{ "vzalloc_node", NOTED, "kgcc_note" },
	{ "vmalloc_32", NOTED, "kgcc_note" },
	{ "vmalloc_32_user", NOTED, "kgcc_note" },
	{ "__vmalloc", NOTED, "kgcc_note" },
	{ "vmalloc_huge", NOTED, "kgcc_note" },
	{ "vmalloc_huge_node", NOTED, "kgcc_note" },
	{ "vmalloc_array", NOTED_ARRAY, "kgcc_note" },
	{ "__vmalloc_array", NOTED_ARRAY, "kgcc_note" },
	{ "vcalloc", NOTED_ARRAY, "kgcc_note" },
	{ "__vcalloc", NOTED_ARRAY, "kgcc_note" },
	{ "alloc_pages_exact", NOTED, "kgcc_note_whole_pages" },
	{ "vfree", FORGOTTEN, "kgcc_forget" },
	{ "free_pages_exact", FORGOTTEN, "kgcc_forget" },
	{ "alloc_pages", NOTED_PAGES, "kgcc_note_pages" },
	{ "__alloc_pages", NOTED_PAGES, "kgcc_note_pages" },
	{ "__free_pages", FORGOTTEN_PAGES, "kgcc_forget_pages" },
	{ "__get_free_pages", NOTED_ORDER, "kgcc_note" },
	{ "get_free_pages", NOTED_ORDER, "kgcc_note" },
	{ "get_zeroed_page", NOTED_ORDER, "kgcc_note" },
	{ "free_pages", FORGOTTEN, "kgcc_forget" },
	{ "__alloc_percpu", NOTED, "kgcc_note_percpu" },
	{ "__alloc_percpu_gfp", NOTED, "kgcc_note_percpu" },
	{ "pcpu_alloc", NOTED, "kgcc_note_percpu" },
	{ "free_percpu", FORGOTTEN, "kgcc_forget_percpu" },
	{ "fortify_panic", ANNOUNCED, "kgcc_fortified" },
	{ "__fortify_panic", ANNOUNCED, "kgcc_fortified" },
};

static bool same_name(const char *name, const char *wanted)
{
	size_t length = strlen(wanted);

	return !strncmp(name, wanted, length) &&
	       (!name[length] || !strcmp(name + length, "_noprof"));
}

static const struct hook *hook_of(gcall *call)
{
	tree callee = gimple_call_internal_p(call) ? NULL_TREE : gimple_call_fndecl(call);
	const char *name;

	if (!callee || !DECL_EXTERNAL(callee))
		return NULL;
	/* The linker's name: a function that another tool redirected has another one. */
	name = IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(callee));
	name += *name == '*';
	for (const struct hook &hook : hooks)
		if (same_name(name, hook.name))
			return &hook;
	return NULL;
}

/* -- arguments, by type ----------------------------------------------------------- */

static tree argument(gcall *call, bool (*wanted)(tree type))
{
	for (unsigned int i = 0; i < gimple_call_num_args(call); i++)
		if (wanted(TREE_TYPE(gimple_call_arg(call, i))))
			return gimple_call_arg(call, i);
	return NULL_TREE;
}

static tree last_argument(gcall *call, bool (*wanted)(tree type))
{
	for (unsigned int i = gimple_call_num_args(call); i--;)
		if (wanted(TREE_TYPE(gimple_call_arg(call, i))))
			return gimple_call_arg(call, i);
	return NULL_TREE;
}

static bool is_size(tree type)
{
	return INTEGRAL_TYPE_P(type) && TYPE_UNSIGNED(type) && TYPE_PRECISION(type) == 64;
}

static bool is_flags(tree type)
{
	return INTEGRAL_TYPE_P(type) && TYPE_UNSIGNED(type) && TYPE_PRECISION(type) == 32;
}

static bool is_node(tree type)
{
	return INTEGRAL_TYPE_P(type) && !TYPE_UNSIGNED(type) && TYPE_PRECISION(type) == 32;
}

static bool points_to(tree type, const char *structure)
{
	tree name = POINTER_TYPE_P(type) ? TYPE_NAME(TYPE_MAIN_VARIANT(TREE_TYPE(type))) : NULL_TREE;

	if (name && TREE_CODE(name) == TYPE_DECL)
		name = DECL_NAME(name);
	return name && !strcmp(IDENTIFIER_POINTER(name), structure);
}

static bool is_cache(tree type)
{
	return points_to(type, "kmem_cache");
}

static bool is_lru(tree type)
{
	return points_to(type, "list_lru");
}

static tree node_of(gcall *call)
{
	tree node = argument(call, is_node);

	return node ? node : build_int_cst(integer_type_node, -1);
}

/* -- calls ------------------------------------------------------------------------ */

static gcall *new_call(const char *name, tree result, const vec<tree> &args, bool varargs)
{
	auto_vec<tree> types;
	tree type;
	gcall *call;

	for (tree arg : args)
		types.safe_push(TREE_TYPE(arg));
	if (varargs)
		type = build_varargs_function_type_array(result, 3, types.address());
	else
		type = build_function_type_array(result, types.length(), types.address());
	call = gimple_build_call_vec(build_fn_decl(name, type), args);
	gimple_call_set_fntype(call, type);
	return call;
}

static void replace(gcall *call, const struct hook *hook, const vec<tree> &args)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(call);
	tree old = gimple_call_fndecl(call);
	tree type = gimple_call_fntype(call);
	gcall *replacement = new_call(hook->replacement, TREE_TYPE(type), args, stdarg_p(type));

	gimple_call_set_lhs(replacement, gimple_call_lhs(call));
	gimple_set_location(replacement, gimple_location(call));
	gimple_move_vops(replacement, call);
	gsi_replace(&gsi, replacement, true);
	cgraph_update_edges_for_call_stmt(call, old, replacement);
}

static void add_call(gcall *call, const char *name, const vec<tree> &args, bool after)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(call);
	gcall *addition = new_call(name, void_type_node, args, false);

	gimple_set_location(addition, gimple_location(call));
	if (after)
		gsi_insert_after(&gsi, addition, GSI_SAME_STMT);
	else
		gsi_insert_before(&gsi, addition, GSI_SAME_STMT);
}

/* A value computed before the call. */
static tree value_of(gcall *call, tree expression)
{
	gimple_stmt_iterator gsi = gsi_for_stmt(call);

	return force_gimple_operand_gsi(&gsi, expression, true, NULL_TREE, true, GSI_SAME_STMT);
}

/* PAGE_SIZE << order. */
static tree bytes_of_order(gcall *call, tree order)
{
	order = order ? fold_convert(integer_type_node, order) : integer_zero_node;
	return value_of(call, fold_build2(LSHIFT_EXPR, size_type_node, size_int(4096), order));
}

/* The product; on overflow the call returns NULL. */
static tree bytes_of_array(gcall *call)
{
	tree n = fold_convert(size_type_node, gimple_call_arg(call, 0));
	tree size = fold_convert(size_type_node, gimple_call_arg(call, 1));

	return value_of(call, fold_build2(MULT_EXPR, size_type_node, n, size));
}

static tree second(gcall *call)
{
	return gimple_call_num_args(call) > 1 ? gimple_call_arg(call, 1) : NULL_TREE;
}

static void note(gcall *call, const struct hook *hook, tree where)
{
	tree result = gimple_call_lhs(call);
	auto_vec<tree> args;

	if (!result)
		return;
	args.safe_push(where);
	args.safe_push(result);
	if (hook->kind == NOTED)
		args.safe_push(argument(call, is_size));
	else if (hook->kind == NOTED_ARRAY)
		args.safe_push(bytes_of_array(call));
	else if (hook->kind == NOTED_PAGES)
		args.safe_push(second(call));
	else
		args.safe_push(bytes_of_order(call, second(call)));
	add_call(call, hook->replacement, args, true);
}

static void forget(gcall *call, const struct hook *hook)
{
	auto_vec<tree> args;

	args.safe_push(gimple_call_arg(call, 0));
	if (hook->kind == FORGOTTEN_PAGES)
		args.safe_push(second(call));
	add_call(call, hook->replacement, args, false);
}

/* A cache passed to an unknown function. */
static void hand_out(gcall *call)
{
	tree callee = gimple_call_fndecl(call), cache = argument(call, is_cache);
	auto_vec<tree> args;

	if (!cache || gimple_call_internal_p(call) || (callee && !DECL_EXTERNAL(callee)))
		return;
	args.safe_push(cache);
	add_call(call, "kgcc_cache_hand_out", args, false);
}

bool redirect_call(gcall *call)
{
	const struct hook *hook = hook_of(call);
	auto_vec<tree> args;

	if (!hook) {
		hand_out(call);
		return false;
	}
	args.safe_push(text_constant(caller_of(gimple_location(call))));
	switch (hook->kind) {
	case SAME:
		for (unsigned int i = 0; i < gimple_call_num_args(call); i++)
			args.safe_push(gimple_call_arg(call, i));
		break;
	case SIZED:
		args.safe_push(argument(call, is_size));
		args.safe_push(argument(call, is_flags));
		args.safe_push(node_of(call));
		break;
	case RESIZED:
	case RESIZED_FROM:
		args.safe_push(gimple_call_arg(call, 0));
		args.safe_push(hook->kind == RESIZED ? argument(call, is_size)
						     : last_argument(call, is_size));
		args.safe_push(argument(call, is_flags));
		break;
	case CACHED:
		args.safe_push(argument(call, is_cache));
		args.safe_push(argument(call, is_lru));
		if (!args.last())
			args.last() = null_pointer_node;
		args.safe_push(argument(call, is_flags));
		args.safe_push(node_of(call));
		break;
	case NOTED:
	case NOTED_ARRAY:
	case NOTED_PAGES:
	case NOTED_ORDER:
		note(call, hook, args[0]);
		return true;
	case FORGOTTEN:
	case FORGOTTEN_PAGES:
		forget(call, hook);
		return true;
	case ANNOUNCED:
		add_call(call, hook->replacement, args, false);
		return true;
	default:
		return false;
	}
	replace(call, hook, args);
	return true;
}

bool allocates(gcall *call, HOST_WIDE_INT *size)
{
	const struct hook *hook = options.hooks ? hook_of(call) : NULL;
	tree bytes = hook && hook->kind == SIZED ? argument(call, is_size) : NULL_TREE;

	if (!bytes || !tree_fits_shwi_p(bytes))
		return false;
	*size = tree_to_shwi(bytes);
	return true;
}
