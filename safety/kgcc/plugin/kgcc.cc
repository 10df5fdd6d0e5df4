// SPDX-License-Identifier: GPL-2.0
/*
 * kgcc: a GCC plugin that makes a kernel module check its pointers at run time.
 *
 * Two passes. The first runs before any optimisation: it counts operations, marks the accesses of
 * the kernel's inline assembly, and applies the user's rules. The second runs after the passes that
 * shrink code, but before loops are rewritten: it collects the remaining operations, keeps the
 * checks that are needed, and emits them.
 */
#include "rules.h"

int plugin_is_GPL_compatible;

struct counts totals;
struct options options = { LIFETIME_CALLS, MEMBERS_ALL, true, true, false, false, NULL };

/* By function: number of operations before optimisation. */
static hash_map<tree, unsigned int> *operations;

static bool is_noinstr(function *fun)
{
	const char *section = DECL_SECTION_NAME(fun->decl);

	return section && strstr(section, "noinstr");
}

static bool is_notrace(function *fun)
{
	return lookup_attribute("no_instrument_function", DECL_ATTRIBUTES(fun->decl));
}

/* The kernel's "inline" includes notrace, for functions that are not inlined after all. */
static bool excluded(function *fun)
{
	return is_noinstr(fun) || (is_notrace(fun) && !DECL_DECLARED_INLINE_P(fun->decl));
}

/* Operations of a function and of everything inlined into it. */
static unsigned int operations_below(tree block)
{
	unsigned int n = 0;

	for (; block; block = BLOCK_CHAIN(block)) {
		if (inlined_function_outer_scope_p(block)) {
			tree from = block_ultimate_origin(block);
			unsigned int *own = TREE_CODE(from) == FUNCTION_DECL ?
					    operations->get(from) : NULL;

			n += own ? *own : 0;
		}
		n += operations_below(BLOCK_SUBBLOCKS(block));
	}
	return n;
}

static unsigned int operations_in(function *fun)
{
	unsigned int *own = operations->get(fun->decl);

	return (own ? *own : 0) + operations_below(DECL_INITIAL(fun->decl));
}

namespace {

const pass_data look_data = {
	GIMPLE_PASS, "kgcc_look", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, 0,
};

class look_pass : public gimple_opt_pass {
public:
	look_pass(gcc::context *context) : gimple_opt_pass(look_data, context) {}
	bool gate(function *fun) final override { return !excluded(fun); }
	unsigned int execute(function *fun) final override
	{
		bool changed = false;

		if (!options.rules_only)
			changed = look_early(fun) | check_members(fun);
		/* Rules about functions that inline functions call apply to their callers. */
		if (!is_notrace(fun)) {
			check_paths(fun);
			operations->put(fun->decl, count_operations(fun));
			changed |= apply_rules(fun);
		}
		return changed ? TODO_update_ssa : 0;
	}
};

const pass_data check_data = {
	GIMPLE_PASS, "kgcc_check", OPTGROUP_NONE, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0,
	TODO_update_ssa,
};

class check_pass : public gimple_opt_pass {
public:
	check_pass(gcc::context *context) : gimple_opt_pass(check_data, context) {}
	bool gate(function *fun) final override { return !excluded(fun); }
	unsigned int execute(function *fun) final override;
};

}

static void redirect_calls(function *fun)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun)
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
			if (is_gimple_call(gsi_stmt(gsi)))
				redirect_call(as_a<gcall *>(gsi_stmt(gsi)));
}

unsigned int check_pass::execute(function *fun)
{
	auto_vec<struct check *> checks;
	unsigned int naive = operations_in(fun), now = count_operations(fun);

	totals.naive += MAX(naive, now);
	totals.optimised += MAX(naive, now) - now;
	loop_optimizer_init(LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
	scev_initialize();
	calculate_dominance_info(CDI_DOMINATORS);
	enable_ranger(fun);

	start_origins();
	learn_lifetime(fun);
	if (!options.rules_only) {
		collect_checks(fun, checks);
		if (options.eliminate) {
			reduce_checks(fun, checks);
			share_rooms(fun, checks);
		}
		register_locals(fun);
		register_strings(fun);
	}
	find_user_access(fun);
	close_user_access(fun, calls_outside);
	for (struct check *check : checks)
		if (!check->gone)
			emit_check(check);
	forget_user_access();
	remove_marks(fun);
	if (options.hooks)
		redirect_calls(fun);
	for (struct check *check : checks)
		delete check;

	disable_ranger(fun);
	scev_finalize();
	loop_optimizer_finalize();
	mark_virtual_operands_for_renaming(fun);
	return 0;
}

/* Writes one line of JSON per source file: see kgcc(8). */
static void write_stats(void *, void *)
{
	FILE *file = options.stats ? fopen(options.stats, "a") : NULL;

	if (!file)
		return;
	fprintf(file,
		"{\"file\": \"%s\", \"naive\": %u, \"optimised\": %u, \"proven\": %u, "
		"\"member\": %u, \"unused\": %u, \"covered\": %u, \"merged\": %u, "
		"\"hoisted\": %u, \"emitted\": %u, \"against_map\": %u, \"compared\": %u, \"frames\": %u, "
		"\"ruled\": %u, \"taken\": %u, \"kept\": %u}\n",
		main_input_filename, totals.naive, totals.optimised, totals.proven, totals.member,
		totals.unused, totals.covered, totals.merged, totals.hoisted, totals.emitted,
		totals.against_map, totals.compared, totals.frames, totals.ruled, totals.taken, totals.kept);
	fclose(file);
}

static bool take_option(const struct plugin_argument *arg)
{
	const char *value = arg->value ? arg->value : "";

	if (!strcmp(arg->key, "stats")) {
		options.stats = value;
	} else if (!strcmp(arg->key, "rules")) {
		read_rules(value);
	} else if (!strcmp(arg->key, "rules-only")) {
		options.rules_only = true;
	} else if (!strcmp(arg->key, "events")) {
		options.events = true;
	} else if (!strcmp(arg->key, "all-checks")) {
		options.eliminate = false;
	} else if (!strcmp(arg->key, "no-hooks")) {
		options.hooks = false;
	} else if (!strcmp(arg->key, "members") && !strcmp(value, "all")) {
		options.members = MEMBERS_ALL;
	} else if (!strcmp(arg->key, "members") && !strcmp(value, "not-last")) {
		options.members = MEMBERS_NOT_LAST;
	} else if (!strcmp(arg->key, "members") && !strcmp(value, "none")) {
		options.members = MEMBERS_NONE;
	} else if (!strcmp(arg->key, "lifetime") && !strcmp(value, "calls")) {
		options.lifetime = LIFETIME_CALLS;
	} else if (!strcmp(arg->key, "lifetime") && !strcmp(value, "names")) {
		options.lifetime = LIFETIME_NAMES;
	} else if (!strcmp(arg->key, "lifetime") && !strcmp(value, "none")) {
		options.lifetime = LIFETIME_NONE;
	} else {
		return false;
	}
	return true;
}

static void add_pass(const char *plugin, opt_pass *pass, const char *reference,
		     enum pass_positioning_ops position)
{
	struct register_pass_info info = { pass, reference, 1, position };

	register_callback(plugin, PLUGIN_PASS_MANAGER_SETUP, NULL, &info);
}

int plugin_init(struct plugin_name_args *plugin, struct plugin_gcc_version *version)
{
	if (!plugin_default_version_check(version, &gcc_version)) {
		error_at(UNKNOWN_LOCATION, "kgcc was built for GCC %s, this is %s",
			 gcc_version.basever, version->basever);
		return 1;
	}
	for (int i = 0; i < plugin->argc; i++) {
		if (!take_option(&plugin->argv[i])) {
			error_at(UNKNOWN_LOCATION, "kgcc: unknown option %qs: see kgcc(8)",
				 plugin->argv[i].key);
			return 1;
		}
	}
	/* GCC must not assume that a loop ends at an array's end. */
	flag_aggressive_loop_optimizations = 0;
	operations = new hash_map<tree, unsigned int>();
	add_pass(plugin->base_name, new look_pass(g), "ubsan", PASS_POS_INSERT_AFTER);
	add_pass(plugin->base_name, new check_pass(g), "asan", PASS_POS_INSERT_BEFORE);
	register_globals(plugin->base_name);
	register_callback(plugin->base_name, PLUGIN_FINISH_UNIT, write_stats, NULL);
	return 0;
}
