// SPDX-License-Identifier: GPL-2.0
/*
 * Registry of named programs, one per network namespace and one for the machine.  A list's
 * spinlock is held for lookups and for replacing a program, never while waiting.  Attaching may
 * take long: it waits for rtnl, or for the file system of a path.  So each name has a ticket,
 * which a task waits for killably and holds meanwhile: only tasks that change the same name wait.
 * Images are checked and compiled before the ticket is taken; replaced programs are waited for
 * and freed after it is released.  A caller holds its namespace, whose programs end with it.
 * Processes that call a program find its name under RCU alone.
 *
 * A name pins this module and its subsystem's.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "compat.h"
#include "embed/process.h"
#include "hook.h"
#include "prog_registry.h"
#include "prog_state.h"
#include "request.h"
#include "subsys_registry.h"
#include "script.h"
#include "kernel/syscalls.h"

/**
 * struct prog_registry - a namespace's names, or the machine's
 * @lock:  guards the lists and the programs of names
 * @list:  by id
 * @turns: tickets of names, see struct turn
 * @ended: woken when a ticket is released
 * @states: states that its programs share
 */
struct prog_registry {
	spinlock_t lock;
	struct list_head list, turns;
	wait_queue_head_t ended;
	struct prog_states states;
};

/* A ticket: the task that attaches, replaces or removes a program of this name. */
struct turn {
	struct list_head node;
	const char *name;
};

/* @moves: its subsystem is attaching or detaching it, and must not be asked for its state. */
struct named_prog {
	struct list_head node;
	u64 id, loads;
	kuid_t uid;
	bool moves;
	char name[SYSCRIPT_NAME_LEN], where[SYSCRIPT_WHERE_LEN];
	struct syscript_hook hook;
};

static struct prog_registry machine = {
	.lock = __SPIN_LOCK_UNLOCKED(machine.lock),
	.list = LIST_HEAD_INIT(machine.list),
	.turns = LIST_HEAD_INIT(machine.turns),
	.ended = __WAIT_QUEUE_HEAD_INITIALIZER(machine.ended),
	.states = PROG_STATES_INIT(machine.states),
};
static unsigned int names_id __read_mostly;	/* index in struct net */
static atomic64_t last_id = ATOMIC64_INIT(0);

static struct prog_registry *prog_of(bool of_net)
{
	return of_net ? net_generic(current->nsproxy->net_ns, names_id) : &machine;
}

static struct user_namespace *owner_of(bool of_net)
{
	return of_net ? current->nsproxy->net_ns->user_ns : &init_user_ns;
}

static int right_over(bool of_net)
{
	return of_net ? CAP_NET_ADMIN : CAP_SYS_ADMIN;
}

/* Has the caller the right to change programs? A refusal leaves an audit record. */
static bool may_change(bool of_net)
{
	return ns_capable(owner_of(of_net), right_over(of_net));
}

/* As may_change(), without an audit record: the caller has another way. */
static bool might_change(bool of_net)
{
	return ns_capable_noaudit(owner_of(of_net), right_over(of_net));
}

/* -- Turns ------------------------------------------------------------------------- */

static bool try_turn(struct prog_registry *names, struct turn *turn)
{
	struct turn *other;
	bool taken = false;

	spin_lock(&names->lock);
	list_for_each_entry(other, &names->turns, node)
		taken |= !strcmp(other->name, turn->name);
	if (!taken)
		list_add(&turn->node, &names->turns);
	spin_unlock(&names->lock);
	return !taken;
}

/* @name stays until end_turn(). Returns 0, or -EINTR if the caller is being killed. */
static int begin_turn(struct prog_registry *names, struct turn *turn, const char *name)
{
	turn->name = name;
	return wait_event_killable(names->ended, try_turn(names, turn)) ? -EINTR : 0;
}

static void end_turn(struct prog_registry *names, struct turn *turn)
{
	spin_lock(&names->lock);
	list_del(&turn->node);
	spin_unlock(&names->lock);
	wake_up_all(&names->ended);
}

/* -- Programs ---------------------------------------------------------------------- */

/*
 * Finds a function of the subsystem, of all subsystems, or of a library, whose module is then
 * held.
 */
static hook_function *prog_find_function(const struct syscript_prog_type *prog_type,
					  const char *name, struct module **owner, char *error)
{
	const struct syscript_function *function = prog_type->functions;

	for (; function && function->name; function++)
		if (!strcmp(function->name, name))
			return function->fn;
	return prog_helpers_find(name) ?: subsys_function(name, owner, error, RUN_ERROR_LEN);
}

/* @names: NUL-terminated strings, @len bytes in all. */
static int find_functions(struct hook_program *program,
			  const struct syscript_prog_type *prog_type, const char *names,
			  size_t len, char *error)
{
	const char *name = names;
	u32 n;

	for (; name < names + len; name += strlen(name) + 1) {
		if (program->nfunctions == SYSCRIPT_FUNCTIONS_MAX)
			return -E2BIG;
		n = program->nfunctions++;
		program->functions[n] = prog_find_function(prog_type, name, &program->owners[n],
							    error);
		if (program->functions[n])
			continue;
		if (error[0])
			return -EPERM;
		scnprintf(error, RUN_ERROR_LEN, "%s has no function %.64s", prog_type->name,
			  name);
		return -EINVAL;
	}
	return 0;
}

static int set_bounds(struct hook_program *program,
		      const struct syscript_prog_type *prog_type,
		      const struct syscript_load *load, char *error)
{
	bool given = load->flags & SYSCRIPT_LOAD_FALLBACK;

	program->fuel = prog_type->fuel;
	program->low = prog_type->low;
	program->span = prog_type->high - prog_type->low;
	program->fallback = given ? load->fallback : prog_type->fallback;
	program->errors_max = load->errors_max ?: prog_type->errors_max ?:
			      SYSCRIPT_ERRORS_DEFAULT;
	program->copies = load->copies;
	program->sees = load->flags & SYSCRIPT_LOAD_SEES ? load->sees : ~0ULL;
	if (program->fallback < prog_type->low || program->fallback > prog_type->high) {
		scnprintf(error, RUN_ERROR_LEN, "the default %lld is out of range: %s takes %lld .. %lld",
			  program->fallback, prog_type->name, prog_type->low,
			  prog_type->high);
		return -EINVAL;
	}
	if (load->copies > prog_type->copy_max) {
		scnprintf(error, RUN_ERROR_LEN, "%u bytes of copies are too many: %s copies up to %u",
			  load->copies, prog_type->name, prog_type->copy_max);
		return -EINVAL;
	}
	return 0;
}

/* Bytes that a program needs outside of its engine. */
static size_t kept_for(const struct syscript_load *load, const struct syscript_state *states)
{
	size_t kept = sizeof(struct hook_program) + load->lines_len + sizeof(struct named_prog) +
		      num_possible_cpus() * sizeof(struct syscript_counters);
	u32 n;

	for (n = 0; n < load->nstates; n++)
		kept += prog_state_outside(&states[n]);
	return kept;
}

/* Checks definitions, and the memory that they take together, before any of it is allocated. */
static int check_states(const struct syscript_state *states, u32 nstates, u64 limit, char *error)
{
	u64 bytes = 0;
	u32 n, m;

	for (n = 0; n < nstates; n++) {
		if (request_check_state(&states[n]))
			return -EINVAL;
		for (m = 0; m < n; m++)
			if (!strcmp(states[m].name, states[n].name))
				return -EINVAL;
		bytes += prog_state_size(&states[n]);
	}
	if (bytes <= limit)
		return 0;
	scnprintf(error, RUN_ERROR_LEN, "%llu bytes of shared state, over the limit of %llu",
		  bytes, limit);
	return -ENOBUFS;
}

static int get_states(struct hook_program *program, struct prog_states *of,
		      const struct syscript_state *states, u32 nstates, char *error)
{
	struct prog_state *state;
	u32 n;

	for (n = 0; n < nstates; n++) {
		state = prog_state_get(of, &states[n], error);
		if (IS_ERR(state))
			return PTR_ERR(state);
		program->states[program->nstates++] = state;
		program->program->run->nshared += state->npages;
	}
	return 0;
}

/* The tables' pages, in the order in which they are in the arena; to be freed with kvfree(). */
static struct page **shared_pages(const struct hook_program *program)
{
	unsigned long n = program->program->run->nshared;
	struct page **pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	struct page **to = pages;
	u32 i;

	for (i = 0; pages && i < program->nstates; i++) {
		memcpy(to, program->states[i]->pages,
		       program->states[i]->npages * sizeof(*pages));
		to += program->states[i]->npages;
	}
	return pages;
}

static void place_sets(struct hook_program *program)
{
	u64 at = raw_cpu_ptr(program->ctxs)->mask + 1;	/* of any CPU */
	u32 n;

	for (n = program->nstates; n--; ) {
		at -= program->states[n]->npages << PAGE_SHIFT;
		program->sets[n] = at;
	}
}

static int load_engine(struct hook_program *program, const struct syscript_register *reg,
		       const char *image, char *error)
{
	struct run *run = program->program->run;
	int err;

	if (run->nshared) {
		run->shared_pages = shared_pages(program);
		if (!run->shared_pages)
			return -ENOMEM;
	}
	err = program_load(program->program, reg, image, NULL, error);
	kvfree(run->shared_pages);
	run->shared_pages = NULL;
	return err;
}

/* Charges the limit first: all that the program holds, shared tables included, is within it. */
static int make_program(struct hook_program *program,
			const struct syscript_prog_type *prog_type,
			const struct syscript_load *load, const struct prog_parts *parts,
			char *error)
{
	struct syscript_register reg = {
		.engine = load->engine, .format = load->format,
		.image_len = load->image_len, .memory_limit = load->memory_limit,
		.shared = load->data, .shared_len = load->data_len,
	};
	int err;

	memcpy(reg.name, load->name, sizeof(reg.name));
	err = program_create(&program->program, &reg, CONTEXT_ATOMIC, error);
	if (err)
		return err;
	program->program->run->view_size = prog_type->view_size + load->copies;
	program->program->run->kept = kept_for(load, parts->states);
	err = check_states(parts->states, load->nstates, program->program->limits.memory, error) ?:
	      get_states(program, &prog_of(prog_type->of_net)->states, parts->states,
			 load->nstates, error) ?:
	      load_engine(program, &reg, parts->image, error);
	if (err)
		return err;
	program->engine = program->program->engine;
	program->ctxs = (struct syscript_percpu_ctx __percpu *)
		program->engine->ctxs(program->program->vm, program);
	place_sets(program);
	return 0;
}

static struct hook_program *get_program(const struct syscript_prog_type *prog_type,
					const struct syscript_load *load,
					struct prog_parts *parts, char *error)
{
	struct hook_program *program = kzalloc(sizeof(*program), GFP_KERNEL_ACCOUNT);
	int err;

	if (!program)
		return ERR_PTR(-ENOMEM);
	prog_helpers_init(&program->services);
	err = find_functions(program, prog_type, parts->functions, load->functions_len,
			     error) ?:
	      set_bounds(program, prog_type, load, error) ?:
	      make_program(program, prog_type, load, parts, error);
	if (err) {
		hook_program_free(program);
		return ERR_PTR(err);
	}
	program->lines = parts->lines;
	program->nlines = load->lines_len / sizeof(*program->lines);
	parts->lines = NULL;
	return program;
}

/* -- Names ------------------------------------------------------------------------- */

static struct named_prog *find_name(struct prog_registry *names, const char *text)
{
	struct named_prog *name;

	list_for_each_entry_rcu(name, &names->list, node, lockdep_is_held(&names->lock))
		if (!strcmp(name->name, text))
			return name;
	return NULL;
}

/* The caller holds the name's ticket, so that the result stays in the list. */
static struct named_prog *look_up(struct prog_registry *names, const char *text)
{
	struct named_prog *name;

	spin_lock(&names->lock);
	name = find_name(names, text);
	spin_unlock(&names->lock);
	return name;
}

/* @name must be in no list, and its program not callable. */
static void free_name(struct named_prog *name)
{
	if (name->hook.own)
		hook_program_free(name->hook.own);
	subsys_put(name->hook.prog_type);
	hook_exit(&name->hook);
	kfree(name);
	module_put(THIS_MODULE);
}

static struct named_prog *alloc_name(const struct syscript_prog_type *prog_type,
			       const struct syscript_load *load)
{
	struct named_prog *name = kzalloc(sizeof(*name), GFP_KERNEL_ACCOUNT);

	if (!name)
		return NULL;
	if (hook_init(&name->hook, prog_type)) {
		kfree(name);
		return NULL;
	}
	/* The caller has the device open, which pins both modules. */
	__module_get(THIS_MODULE);
	__module_get(prog_type->owner);
	name->uid = current_uid();
	strscpy(name->name, load->name, sizeof(name->name));
	strscpy(name->where, load->where, sizeof(name->where));
	return name;
}

static int may_replace(const struct named_prog *name, const struct syscript_prog_type *prog_type,
		       const struct syscript_load *load, char *error)
{
	if (load->flags & SYSCRIPT_LOAD_NEW) {
		scnprintf(error, RUN_ERROR_LEN, "program %s exists already", load->name);
		return -EEXIST;
	}
	if (name->hook.prog_type == prog_type && !strcmp(name->where, load->where))
		return 0;
	scnprintf(error, RUN_ERROR_LEN,
		  "program %s exists already, for %s at '%s': unload it, or choose another name",
		  load->name, name->hook.prog_type->name, name->where);
	return -EEXIST;
}

static int attach_hook(struct named_prog *name, char *error)
{
	const struct syscript_prog_type *prog_type = name->hook.prog_type;
	struct net *net = prog_type->of_net ? current->nsproxy->net_ns : NULL;

	return prog_type->attach(&name->hook, net, name->where, error, RUN_ERROR_LEN);
}

static bool is_gone(const struct syscript_hook *hook)
{
	return hook->prog_type->gone && hook->prog_type->gone(hook);
}

/* Sets the program before the first call can come, and lists the name once it is attached. */
static int prog_attach(struct prog_registry *names, struct named_prog *name,
		       struct hook_program *program,
			char *error)
{
	int err;

	hook_set(&name->hook, program);
	err = attach_hook(name, error);
	if (err) {
		hook_set(&name->hook, NULL);
		return err;
	}
	name->loads = 1;
	spin_lock(&names->lock);
	/* Under the lock, so that the list stays sorted by id. */
	name->id = atomic64_inc_return(&last_id);
	list_add_tail_rcu(&name->node, &names->list);
	spin_unlock(&names->lock);
	return 0;
}

static void set_moves(struct prog_registry *names, struct named_prog *name, bool moves)
{
	spin_lock(&names->lock);
	name->moves = moves;
	spin_unlock(&names->lock);
}

/* The name's attach point was gone, but may exist again. */
static int attach_again(struct prog_registry *names, struct named_prog *name, char *error)
{
	int err;

	set_moves(names, name, true);
	name->hook.prog_type->detach(&name->hook);
	err = attach_hook(name, error);
	set_moves(names, name, false);
	return err;
}

/* Returns the previous program. */
static struct hook_program *prog_replace(struct prog_registry *names, struct named_prog *name,
					  struct hook_program *program)
{
	spin_lock(&names->lock);
	name->loads++;
	name->uid = current_uid();
	program = hook_set(&name->hook, program);
	spin_unlock(&names->lock);
	return program;
}

/* Leaves objects to be freed in @name, if that is not NULL, and in @program. */
static int put_in_place(struct prog_registry *names, struct named_prog **fresh,
			struct hook_program **program, const struct syscript_load *load,
			char *error)
{
	struct named_prog *name = look_up(names, load->name);
	int err;

	if (!name) {
		err = prog_attach(names, *fresh, *program, error);
		if (!err) {
			*fresh = NULL;
			*program = NULL;
		}
		return err;
	}
	err = may_replace(name, (*fresh)->hook.prog_type, load, error);
	if (!err && is_gone(&name->hook))
		err = attach_again(names, name, error);
	if (!err)
		*program = prog_replace(names, name, *program);
	return err;
}

static int load_program(struct named_prog *name, struct hook_program *program,
			const struct syscript_load *load, char *error)
{
	struct prog_registry *names = prog_of(name->hook.prog_type->of_net);
	struct turn turn;
	int err = begin_turn(names, &turn, load->name);

	if (!err) {
		err = put_in_place(names, &name, &program, load, error);
		end_turn(names, &turn);
	}
	/* Wait for calls of a replaced program, or of one that was attached for a moment. */
	if (program) {
		synchronize_net();
		hook_program_free(program);
	}
	if (name)
		free_name(name);
	return err;
}

int prog_registry_may_load(void)
{
	/*
	 * On PREEMPT_RT softirqs are preemptible, and a program's per-CPU state is not protected.
	 */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return -EOPNOTSUPP;
	if (syscalls_nested())
		return -EDEADLK;
	if (!limits_enabled())
		return -ESHUTDOWN;
	return limits_locked_down() ? -EPERM : 0;
}

const struct syscript_prog_type *prog_registry_subsystem(const char *subsystem, char *error)
{
	const struct syscript_prog_type *prog_type = subsys_get(subsystem);

	if (!prog_type) {
		scnprintf(error, RUN_ERROR_LEN, "no subsystem %s", subsystem);
		return ERR_PTR(-ENOENT);
	}
	if (may_change(prog_type->of_net))
		return prog_type;
	scnprintf(error, RUN_ERROR_LEN, prog_type->of_net ?
		  "loading programs for %s needs CAP_NET_ADMIN over the network namespace" :
		  "loading programs for %s needs CAP_SYS_ADMIN", prog_type->name);
	subsys_put(prog_type);
	return ERR_PTR(-EPERM);
}

int prog_registry_load(const struct syscript_prog_type *prog_type, const struct syscript_load *load,
	       struct prog_parts *parts, char *error)
{
	struct hook_program *program = get_program(prog_type, load, parts, error);
	struct named_prog *name;

	if (IS_ERR(program))
		return PTR_ERR(program);
	name = alloc_name(prog_type, load);
	if (name)
		return load_program(name, program, load, error);
	hook_program_free(program);
	return -ENOMEM;
}

static int prog_take_out(struct prog_registry *names, const char *text)
{
	struct turn turn;
	struct named_prog *name;
	int err = begin_turn(names, &turn, text);

	if (err)
		return err;
	spin_lock(&names->lock);
	name = find_name(names, text);
	if (name)
		list_del_rcu(&name->node);
	spin_unlock(&names->lock);
	/* 1. No call begins any more, */
	if (name)
		name->hook.prog_type->detach(&name->hook);
	end_turn(names, &turn);
	if (!name)
		return -ENOENT;
	/* 2. and none is under way. */
	synchronize_net();
	/* 3. It cannot be found any more. */
	free_name(name);
	return 0;
}

int prog_registry_unload(const struct syscript_unload *request)
{
	bool of_net = might_change(true), of_machine = might_change(false);
	int err = -ENOENT;

	if (!of_net && !of_machine && !may_change(true))
		return -EPERM;
	if (of_net)
		err = prog_take_out(prog_of(true), request->name);
	if (err == -ENOENT && of_machine)
		err = prog_take_out(prog_of(false), request->name);
	return err;
}

/* -- Rings ------------------------------------------------------------------------- */

struct prog_ring *prog_registry_ring(const char *name, struct syscript_state *def)
{
	bool of_net = might_change(true), of_machine = might_change(false);
	struct prog_ring *ring = NULL;

	if (!of_net && !of_machine && !may_change(true))
		return ERR_PTR(-EPERM);
	if (of_net)
		ring = prog_state_ring(&prog_of(true)->states, name, def);
	if (!ring && of_machine)
		ring = prog_state_ring(&prog_of(false)->states, name, def);
	return ring ?: ERR_PTR(-ENOENT);
}

/* -- Calls of processes ------------------------------------------------------------ */

static int prog_call(struct named_prog *name, struct syscript_invoke *invoke, const void *data,
		      char *error)
{
	const struct process_arguments arguments = {
		.args = invoke->args, .nargs = invoke->nargs,
		.data = data, .len = invoke->data_len,
	};
	int err;

	if (!process_is(name->hook.prog_type)) {
		scnprintf(error, RUN_ERROR_LEN,
			  "program %s is for %s: processes can call only programs for process",
			  name->name, name->hook.prog_type->name);
		return -EOPNOTSUPP;
	}
	err = process_call(&name->hook, &arguments, &invoke->result);
	/* Another task's error may have replaced it meanwhile. */
	if (err == -EPROTO)
		hook_error(&name->hook, error, RUN_ERROR_LEN);
	else if (err)
		scnprintf(error, RUN_ERROR_LEN, "%s is no longer called: it failed too often",
			  name->name);
	return err;
}

int prog_registry_invoke(struct syscript_invoke *arguments, const void *data, char *error)
{
	struct prog_registry *names = prog_of(true);
	struct named_prog *name;
	int err = -ENOENT;

	rcu_read_lock();
	name = find_name(names, arguments->name);
	if (name)
		err = prog_call(name, arguments, data, error);
	rcu_read_unlock();
	return err;
}

/* -- Listing ------------------------------------------------------------------------ */

static void prog_tell(struct named_prog *name, bool of_machine, struct syscript_program *out)
{
	const struct hook_program *program = name->hook.own;
	struct syscript_counters sums;
	struct engine_stats stats = { 0 };

	memset(out, 0, sizeof(*out));
	hook_count(&name->hook, &sums);
	hook_error(&name->hook, out->error, sizeof(out->error));
	program->engine->stats(program->program->vm, &stats);
	out->id = name->id;
	out->uid = from_kuid_munged(current_user_ns(), name->uid);
	out->state = name->moves || is_gone(&name->hook) ? SYSCRIPT_PROGRAM_GONE :
		     program->failed ? SYSCRIPT_PROGRAM_OFF : SYSCRIPT_PROGRAM_CALLED;
	out->engine = program->engine->id;
	out->format = program->program->format;
	out->machine = of_machine;
	out->errors_max = program->errors_max;
	out->fallback = program->fallback;
	out->loads = name->loads;
	out->calls = sums.calls;
	out->errors = sums.errors;
	out->defaults = sums.defaults;
	out->run_time = sums.time;
	out->memory = stats.memory;
	out->mcode = stats.counters[0];
	strscpy(out->name, name->name, sizeof(out->name));
	strscpy(out->subsystem, name->hook.prog_type->name, sizeof(out->subsystem));
	strscpy(out->where, name->where, sizeof(out->where));
}

/* Finds the first program with an id between @after and @before, and describes it in @out. */
static bool next_of(struct prog_registry *names, u64 after, u64 before, bool of_machine,
		    struct syscript_program *out)
{
	struct named_prog *name;
	bool found = false;

	spin_lock(&names->lock);
	list_for_each_entry(name, &names->list, node)
		if (name->id > after) {
			found = name->id < before;
			if (found)
				prog_tell(name, of_machine, out);
			break;
		}
	spin_unlock(&names->lock);
	return found;
}

int prog_registry_next(struct syscript_program *program)
{
	u64 after = program->id, before = U64_MAX;
	bool found = false;

	if (might_change(true) && next_of(prog_of(true), after, before, false, program)) {
		before = program->id;
		found = true;
	}
	if (might_change(false) && next_of(prog_of(false), after, before, true, program))
		found = true;
	return found ? 0 : -ENOENT;
}

/* -- Namespaces -------------------------------------------------------------------- */

static int __net_init net_begin(struct net *net)
{
	struct prog_registry *names = net_generic(net, names_id);

	spin_lock_init(&names->lock);
	INIT_LIST_HEAD(&names->list);
	INIT_LIST_HEAD(&names->turns);
	init_waitqueue_head(&names->ended);
	prog_states_init(&names->states);
	return 0;
}

/* No task is in the namespace any more, so only this function uses the list. */
static void __net_exit net_detach(struct net *net)
{
	struct prog_registry *names = net_generic(net, names_id);
	struct named_prog *name;

	list_for_each_entry(name, &names->list, node)
		name->hook.prog_type->detach(&name->hook);
}

static void __net_exit net_end(struct net *net)
{
	struct prog_registry *names = net_generic(net, names_id);
	struct named_prog *name, *next;

	if (list_empty(&names->list))
		return;
	synchronize_net();
	list_for_each_entry_safe(name, next, &names->list, node)
		free_name(name);
}

static struct pernet_operations net_ops = {
	.init = net_begin,
	.pre_exit = net_detach,
	.exit = net_end,
	.id = &names_id,
	.size = sizeof(struct prog_registry),
};

int prog_registry_init(void)
{
	return register_pernet_subsys(&net_ops);
}

void prog_registry_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}
