// SPDX-License-Identifier: GPL-2.0
/*
 * See names.h.
 *
 * Each namespace has a list of names, the machine has one, and each list a lock, which is
 * held to look a name up, to put a program in its place, and while its subsystem attaches
 * it.  Images are checked and compiled before, and programs waited for and freed after.
 * Callers from a namespace hold it; it ends when none does.  Processes that
 * call a program find its name under RCU alone.
 *
 * A name holds this module and its subsystem's, so neither goes before it.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "compat.h"
#include "embed/process.h"
#include "hook.h"
#include "names.h"
#include "offers.h"
#include "script.h"
#include "syscalls.h"

struct names {
	struct mutex lock;
	struct list_head list;		/* by id */
};

struct name {
	struct list_head node;
	u64 id, loads;
	kuid_t uid;
	char name[SYSCRIPT_NAME_LEN], where[SYSCRIPT_WHERE_LEN];
	struct syscript_hook hook;
};

static struct names machine = {
	.lock = __MUTEX_INITIALIZER(machine.lock),
	.list = LIST_HEAD_INIT(machine.list),
};
static unsigned int names_id __read_mostly;	/* of struct names in a struct net */
static atomic64_t last_id = ATOMIC64_INIT(0);

static bool may_change(bool of_net)
{
	if (of_net)
		return ns_capable(current->nsproxy->net_ns->user_ns, CAP_NET_ADMIN);
	return capable(CAP_SYS_ADMIN);
}

/* -- Programs ---------------------------------------------------------------------- */

/* Of the subsystem, of all subsystems, or of a library, which is held then. */
static hook_function *find_function(const struct syscript_embedding *embedding,
				    const char *name, struct module **owner, char *error)
{
	const struct syscript_function *function = embedding->functions;

	for (; function && function->name; function++)
		if (!strcmp(function->name, name))
			return function->fn;
	return services_find(name) ?: offers_function(name, owner, error, RUN_ERROR_LEN);
}

/* @names: NUL-terminated each, @len bytes in all. */
static int find_functions(struct hook_program *program,
			  const struct syscript_embedding *embedding, const char *names,
			  size_t len, char *error)
{
	const char *name = names;
	u32 n;

	for (; name < names + len; name += strlen(name) + 1) {
		if (program->nfunctions == SYSCRIPT_FUNCTIONS_MAX)
			return -E2BIG;
		n = program->nfunctions++;
		program->functions[n] = find_function(embedding, name, &program->owners[n],
						      error);
		if (program->functions[n])
			continue;
		if (error[0])
			return -EPERM;
		scnprintf(error, RUN_ERROR_LEN, "%s has no function %.64s", embedding->name,
			  name);
		return -EINVAL;
	}
	return 0;
}

static int set_bounds(struct hook_program *program,
		      const struct syscript_embedding *embedding,
		      const struct syscript_load *load, char *error)
{
	bool given = load->flags & SYSCRIPT_LOAD_FALLBACK;

	program->fuel = embedding->fuel;
	program->low = embedding->low;
	program->span = embedding->high - embedding->low;
	program->fallback = given ? load->fallback : embedding->fallback;
	program->errors_max = load->errors_max ?: embedding->errors_max ?:
			      SYSCRIPT_ERRORS_DEFAULT;
	program->copies = load->copies;
	program->sees = load->flags & SYSCRIPT_LOAD_SEES ? load->sees : ~0ULL;
	if (program->fallback < embedding->low || program->fallback > embedding->high) {
		scnprintf(error, RUN_ERROR_LEN, "the default %lld is out of range: %s takes %lld .. %lld",
			  program->fallback, embedding->name, embedding->low,
			  embedding->high);
		return -EINVAL;
	}
	if (load->copies > embedding->copy_max) {
		scnprintf(error, RUN_ERROR_LEN, "%u bytes of copies are too many: %s copies up to %u",
			  load->copies, embedding->name, embedding->copy_max);
		return -EINVAL;
	}
	return 0;
}

static int make_program(struct hook_program *program,
			const struct syscript_embedding *embedding,
			const struct syscript_load *load, const char *image, char *error)
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
	program->program->run->view_size = embedding->view_size + load->copies;
	err = program_load(program->program, &reg, image, NULL, error);
	if (err)
		return err;
	program->engine = program->program->engine;
	program->seats = (struct syscript_seat __percpu *)
		program->engine->seats(program->program->vm, program);
	return 0;
}

static struct hook_program *get_program(const struct syscript_embedding *embedding,
					const struct syscript_load *load,
					struct names_parts *parts, char *error)
{
	struct hook_program *program = kzalloc(sizeof(*program), GFP_KERNEL_ACCOUNT);
	int err;

	if (!program)
		return ERR_PTR(-ENOMEM);
	services_init(&program->services);
	err = find_functions(program, embedding, parts->functions, load->functions_len,
			     error) ?:
	      set_bounds(program, embedding, load, error) ?:
	      make_program(program, embedding, load, parts->image, error);
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

static struct name *find_name(struct names *names, const char *text)
{
	struct name *name;

	list_for_each_entry_rcu(name, &names->list, node, lockdep_is_held(&names->lock))
		if (!strcmp(name->name, text))
			return name;
	return NULL;
}

/* It is in no list, and has no program that is called. */
static void free_name(struct name *name)
{
	if (name->hook.own)
		hook_program_free(name->hook.own);
	offers_put(name->hook.embedding);
	hook_exit(&name->hook);
	kfree(name);
	module_put(THIS_MODULE);
}

/* Takes over the caller's hold on the embedding, if it returns one. */
static struct name *alloc_name(const struct syscript_embedding *embedding,
			       const struct syscript_load *load)
{
	struct name *name = kzalloc(sizeof(*name), GFP_KERNEL_ACCOUNT);

	if (!name)
		return NULL;
	if (hook_init(&name->hook, embedding)) {
		kfree(name);
		return NULL;
	}
	/* The caller has the device open, which holds the module. */
	__module_get(THIS_MODULE);
	name->uid = current_uid();
	strscpy(name->name, load->name, sizeof(name->name));
	strscpy(name->where, load->where, sizeof(name->where));
	return name;
}

static int may_replace(const struct name *name, const struct syscript_embedding *embedding,
		       const struct syscript_load *load, char *error)
{
	if (load->flags & SYSCRIPT_LOAD_NEW) {
		scnprintf(error, RUN_ERROR_LEN, "program %s exists already", load->name);
		return -EEXIST;
	}
	if (name->hook.embedding == embedding && !strcmp(name->where, load->where))
		return 0;
	scnprintf(error, RUN_ERROR_LEN,
		  "program %s exists already, for %s at '%s': unload it, or choose another name",
		  load->name, name->hook.embedding->name, name->where);
	return -EEXIST;
}

static int attach_hook(struct name *name, char *error)
{
	const struct syscript_embedding *embedding = name->hook.embedding;
	struct net *net = embedding->of_net ? current->nsproxy->net_ns : NULL;

	return embedding->attach(&name->hook, net, name->where, error, RUN_ERROR_LEN);
}

static bool is_gone(const struct syscript_hook *hook)
{
	return hook->embedding->gone && hook->embedding->gone(hook);
}

/* The program is there before the first call, and the name once it is attached. */
static int attach(struct names *names, struct name *name, struct hook_program *program,
		  char *error)
{
	int err;

	lockdep_assert_held(&names->lock);
	hook_set(&name->hook, program);
	err = attach_hook(name, error);
	if (err) {
		hook_set(&name->hook, NULL);
		return err;
	}
	name->loads = 1;
	/* With the lock held, or a list would not be by id. */
	name->id = atomic64_inc_return(&last_id);
	list_add_tail_rcu(&name->node, &names->list);
	return 0;
}

/* Objects to be freed are left in @name, if it is a name, and in @program. */
static int put_in_place(struct names *names, struct name **fresh,
			struct hook_program **program, const struct syscript_load *load,
			char *error)
{
	struct name *name = find_name(names, load->name);
	int err;

	if (!name) {
		err = attach(names, *fresh, *program, error);
		if (!err) {
			*fresh = NULL;
			*program = NULL;
		}
		return err;
	}
	err = may_replace(name, (*fresh)->hook.embedding, load, error);
	if (!err && is_gone(&name->hook)) {
		name->hook.embedding->detach(&name->hook);
		err = attach_hook(name, error);
	}
	if (err)
		return err;
	name->loads++;
	name->uid = current_uid();
	*program = hook_set(&name->hook, *program);
	return 0;
}

static int load_program(struct name *name, struct hook_program *program,
			const struct syscript_load *load, char *error)
{
	struct names *names = name->hook.embedding->of_net ?
			      net_generic(current->nsproxy->net_ns, names_id) : &machine;
	int err = mutex_lock_killable(&names->lock);

	if (!err) {
		err = put_in_place(names, &name, &program, load, error);
		mutex_unlock(&names->lock);
	}
	/* A program that was replaced, or may have been called for a moment. */
	if (program) {
		synchronize_net();
		hook_program_free(program);
	}
	if (name)
		free_name(name);
	return err;
}

int names_may_load(void)
{
	/* Where one bottom half can come to a CPU in the middle of another. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return -EOPNOTSUPP;
	if (syscalls_nested())
		return -EDEADLK;
	if (!limits_enabled())
		return -ESHUTDOWN;
	return limits_locked_down() ? -EPERM : 0;
}

static int load_for(const struct syscript_embedding *embedding,
		    const struct syscript_load *load, struct names_parts *parts,
		    char *error)
{
	struct hook_program *program;
	struct name *name;

	program = get_program(embedding, load, parts, error);
	if (IS_ERR(program)) {
		offers_put(embedding);
		return PTR_ERR(program);
	}
	name = alloc_name(embedding, load);
	if (!name) {
		hook_program_free(program);
		offers_put(embedding);
		return -ENOMEM;
	}
	return load_program(name, program, load, error);
}

int names_load(const struct syscript_load *load, struct names_parts *parts, char *error)
{
	const struct syscript_embedding *embedding = offers_get(load->subsystem);

	if (!embedding) {
		scnprintf(error, RUN_ERROR_LEN, "no subsystem %s", load->subsystem);
		return -ENOENT;
	}
	if (may_change(embedding->of_net))
		return load_for(embedding, load, parts, error);
	scnprintf(error, RUN_ERROR_LEN, embedding->of_net ?
		  "loading programs for %s needs CAP_NET_ADMIN over the network namespace" :
		  "loading programs for %s needs CAP_SYS_ADMIN", embedding->name);
	offers_put(embedding);
	return -EPERM;
}

static struct name *take_name(struct names *names, const char *text)
{
	struct name *name;

	mutex_lock(&names->lock);
	name = find_name(names, text);
	if (name)
		list_del_rcu(&name->node);
	mutex_unlock(&names->lock);
	return name;
}

int names_unload(const struct syscript_unload *unload)
{
	struct name *name = NULL;
	bool of_net = may_change(true), of_machine = may_change(false);

	if (!of_net && !of_machine)
		return -EPERM;
	if (of_net)
		name = take_name(net_generic(current->nsproxy->net_ns, names_id),
				 unload->name);
	if (!name && of_machine)
		name = take_name(&machine, unload->name);
	if (!name)
		return -ENOENT;
	/* 1. No call begins after this, */
	name->hook.embedding->detach(&name->hook);
	/* 2. and none is under way after this. */
	synchronize_net();
	/* 3. It cannot be found. */
	free_name(name);
	return 0;
}

/* -- Calls of processes ------------------------------------------------------------ */

static int invoke(struct name *name, struct syscript_invoke *invoke, const void *data,
		  char *error)
{
	const struct process_arguments arguments = {
		.args = invoke->args, .nargs = invoke->nargs,
		.data = data, .len = invoke->data_len,
	};
	int err;

	if (!process_is(name->hook.embedding)) {
		scnprintf(error, RUN_ERROR_LEN,
			  "program %s is for %s: processes can call only programs for process",
			  name->name, name->hook.embedding->name);
		return -EOPNOTSUPP;
	}
	err = process_call(&name->hook, &arguments, &invoke->result);
	/* Another's error may have come since. */
	if (err == -EPROTO)
		hook_error(&name->hook, error, RUN_ERROR_LEN);
	else if (err)
		scnprintf(error, RUN_ERROR_LEN, "%s is no longer called: it failed too often",
			  name->name);
	return err;
}

int names_invoke(struct syscript_invoke *arguments, const void *data, char *error)
{
	struct names *names = net_generic(current->nsproxy->net_ns, names_id);
	struct name *name;
	int err = -ENOENT;

	rcu_read_lock();
	name = find_name(names, arguments->name);
	if (name)
		err = invoke(name, arguments, data, error);
	rcu_read_unlock();
	return err;
}

/* -- What there is ----------------------------------------------------------------- */

static void tell(struct name *name, bool of_machine, struct syscript_program *out)
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
	out->state = is_gone(&name->hook) ? SYSCRIPT_PROGRAM_GONE :
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
	strscpy(out->subsystem, name->hook.embedding->name, sizeof(out->subsystem));
	strscpy(out->where, name->where, sizeof(out->where));
}

/* True if @names has one after id @after, and before @before, which is then in @out. */
static bool next_of(struct names *names, u64 after, u64 before, bool of_machine,
		    struct syscript_program *out)
{
	struct name *name;
	bool found = false;

	mutex_lock(&names->lock);
	list_for_each_entry(name, &names->list, node)
		if (name->id > after) {
			found = name->id < before;
			if (found)
				tell(name, of_machine, out);
			break;
		}
	mutex_unlock(&names->lock);
	return found;
}

int names_next(struct syscript_program *program)
{
	u64 after = program->id, before = U64_MAX;
	bool found = false;

	if (may_change(true) && next_of(net_generic(current->nsproxy->net_ns, names_id),
					after, before, false, program)) {
		before = program->id;
		found = true;
	}
	if (may_change(false) && next_of(&machine, after, before, true, program))
		found = true;
	return found ? 0 : -ENOENT;
}

/* -- Namespaces -------------------------------------------------------------------- */

static int __net_init net_begin(struct net *net)
{
	struct names *names = net_generic(net, names_id);

	mutex_init(&names->lock);
	INIT_LIST_HEAD(&names->list);
	return 0;
}

/* No task is in it any more: only this uses the list. */
static void __net_exit net_detach(struct net *net)
{
	struct names *names = net_generic(net, names_id);
	struct name *name;

	list_for_each_entry(name, &names->list, node)
		name->hook.embedding->detach(&name->hook);
}

static void __net_exit net_end(struct net *net)
{
	struct names *names = net_generic(net, names_id);
	struct name *name, *next;

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
	.size = sizeof(struct names),
};

int names_init(void)
{
	return register_pernet_subsys(&net_ops);
}

void names_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}
