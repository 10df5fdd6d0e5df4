// SPDX-License-Identifier: GPL-2.0
/*
 * The monitor of allocations reports what a module has not freed when it is unloaded, and double
 * frees: slab objects, vmalloc() memory, pages, per-CPU memory, skbs. It uses the kernel's
 * tracepoints, and kprobes where there are none, so modules need no instrumentation.
 *
 * objects_lock is a raw spinlock, taken with interrupts off; the table has a fixed size.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hash.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/version.h>

#include "memory.h"
#include "monitor.h"
#include "words.h"

#define OBJECTS_BITS	16
#define PROBES		32
#define MODULES_MAX	16

static char *modules = "";
module_param(modules, charp, 0444);
MODULE_PARM_DESC(modules, "names of the modules to watch, by comma; there, or yet to come");

struct object {
	const void *start;		/* NULL: never used, or at its end */
	size_t size;			/* 0: unknown, an skb */
	bool is_skb, freed;
	const struct module *module;
	struct evmon_where born, died;
};

static struct object *objects;
static DEFINE_RAW_SPINLOCK(objects_lock);
static unsigned long lost;
/* Modules that are loaded and watched; readers use RCU. */
static const struct module *watched[MODULES_MAX];
static struct evmon_monitor monitor;

static const struct module *module_at(unsigned long ip)
{
	const struct module *found = NULL;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < MODULES_MAX && !found; i++) {
		const struct module *module = READ_ONCE(watched[i]);

		if (module && within_module(ip, module))
			found = module;
	}
	rcu_read_unlock();
	return found;
}

/* The slot where it is, or may be put: slots of freed objects are reused. */
static struct object *object_find(const void *start, bool add)
{
	unsigned int i, first = hash_ptr(start, OBJECTS_BITS);
	struct object *object, *room = NULL;

	for (i = 0; i < PROBES; i++) {
		object = &objects[(first + i) % (1 << OBJECTS_BITS)];
		if (object->start == start)
			return object;
		if (!room && (!object->start || object->freed))
			room = object;
		if (!object->start)
			break;
	}
	return add ? room : NULL;
}

static void born(unsigned long ip, const void *start, size_t size, bool is_skb)
{
	const struct module *module;
	struct object *object;
	unsigned long flags;

	/* kmalloc(0) returns the same pointer to all callers, and not every allocator traces it. */
	if (ZERO_OR_NULL_PTR(start) || in_nmi())
		return;
	module = module_at(ip);
	raw_spin_lock_irqsave(&objects_lock, flags);
	/* No watched module allocated this: an older object at this address has been freed. */
	object = object_find(start, module);
	if (object)
		*object = (struct object) {
			.start = start, .size = size, .is_skb = is_skb, .module = module,
			.born = evmon_here_ip(ip), .freed = !module,
		};
	else if (module)
		lost++;
	raw_spin_unlock_irqrestore(&objects_lock, flags);
}

static void died(unsigned long ip, const void *start)
{
	struct evmon_where here, before = {};
	struct object *object;
	unsigned long flags;
	bool twice = false;

	if (ZERO_OR_NULL_PTR(start) || in_nmi())
		return;
	raw_spin_lock_irqsave(&objects_lock, flags);
	object = object_find(start, false);
	if (object && object->module) {
		here = evmon_here_ip(ip);
		twice = object->freed;
		before = object->died;
		object->freed = true;
		object->died = here;
	}
	raw_spin_unlock_irqrestore(&objects_lock, flags);
	if (twice)
		evmon_violation(&monitor, start, &here, "freed", &before, "freed twice");
}

static void on_born(struct memory_listener *listener, unsigned long ip, const void *start,
		    size_t size, gfp_t flags)
{
	born(ip, start, size, false);
}

static void on_died(struct memory_listener *listener, unsigned long ip, const void *start,
		    const struct kmem_cache *cache)
{
	died(ip, start);
}

static struct memory_listener memory = { .born = on_born, .died = on_died };

/*
 * -- what is freed without a tracepoint -----------------------------------------
 *
 * kfree_rcu() and many at a time.
 */

/* The memory no longer belongs to the module. */
static void forget(const void *start)
{
	struct object *object;
	unsigned long flags;

	/* Most are not in the table: every page that the kernel frees comes here. */
	if (in_nmi() || !object_find(start, false))
		return;
	raw_spin_lock_irqsave(&objects_lock, flags);
	object = object_find(start, false);
	if (object) {
		object->module = NULL;
		object->freed = true;
	}
	raw_spin_unlock_irqrestore(&objects_lock, flags);
}

/* RCU frees it at a time of its own, perhaps long after the module is unloaded: forget it. */
static int on_free_rcu(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long start = regs_get_kernel_argument(regs, 1);

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	/* The second argument is the offset of struct rcu_head, if there is one. */
	if (regs_get_kernel_argument(regs, 0))
		start = regs_get_kernel_argument(regs, 0) - start;
#endif
	forget((void *)start);
	return 0;
}

static int on_free_bulk(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long ip = regs_get_kernel_stack_nth(regs, 0);
	size_t i, count = regs_get_kernel_argument(regs, 1);
	void **objects = (void **)regs_get_kernel_argument(regs, 2);

	for (i = 0; i < count; i++)
		died(ip, objects[i]);
	return 0;
}

static struct kprobe free_rcu = {
	.symbol_name = "kvfree_call_rcu", .pre_handler = on_free_rcu,
};
static struct kprobe free_bulk = {
	.symbol_name = "kmem_cache_free_bulk", .pre_handler = on_free_bulk,
};
static struct kprobe *probes[] = { &free_rcu, &free_bulk };

/*
 * -- memory that is not of slabs, and skbs ---------------------------------------
 *
 * Its allocators have no tracepoint that says who called.  A function that one kernel
 * does not have, or has under another name, is left out there.
 */

enum result { MEMORY, PAGE, ADDRESS_OF_PAGE, SKB };

struct allocator {
	struct kretprobe probe;
	enum result result;
	int size;			/* index of the size argument, -1: none */
	bool is_order;
	bool registered;
};

static int on_call(struct kretprobe_instance *instance, struct pt_regs *regs);
static int on_result(struct kretprobe_instance *instance, struct pt_regs *regs);

struct call {
	unsigned long ip;
	size_t size;
};

#define ALLOCATOR(name, result_, size_, order) {			\
	.probe = { .kp.symbol_name = name, .entry_handler = on_call,	\
		   .handler = on_result, .data_size = sizeof(struct call) },\
	.result = result_, .size = size_, .is_order = order }
#define ALLOCATORS(name, result, size, order)				\
	ALLOCATOR(name, result, size, order), ALLOCATOR(name "_noprof", result, size, order)

static struct allocator allocators[] = {
	ALLOCATORS("vmalloc", MEMORY, 0, false),
	ALLOCATORS("vzalloc", MEMORY, 0, false),
	ALLOCATORS("vmalloc_user", MEMORY, 0, false),
	ALLOCATORS("vmalloc_node", MEMORY, 0, false),
	ALLOCATORS("vzalloc_node", MEMORY, 0, false),
	ALLOCATORS("__vmalloc", MEMORY, 0, false),
	ALLOCATOR("kvmalloc_node", MEMORY, 0, false),
	ALLOCATOR("__kvmalloc_node_noprof", MEMORY, 0, false),
	ALLOCATORS("alloc_pages", PAGE, 1, true),
	ALLOCATORS("__alloc_pages", PAGE, 1, true),
	ALLOCATOR("__get_free_pages", ADDRESS_OF_PAGE, 1, true),
	ALLOCATOR("get_free_pages_noprof", ADDRESS_OF_PAGE, 1, true),
	ALLOCATORS("get_zeroed_page", ADDRESS_OF_PAGE, -1, true),
	ALLOCATORS("alloc_pages_exact", ADDRESS_OF_PAGE, 0, false),
	ALLOCATOR("__alloc_percpu", MEMORY, 0, false),
	ALLOCATOR("__alloc_percpu_gfp", MEMORY, 0, false),
	ALLOCATOR("pcpu_alloc_noprof", MEMORY, 0, false),
	ALLOCATOR("__alloc_skb", SKB, 0, false),
	ALLOCATOR("__netdev_alloc_skb", SKB, 1, false),
	ALLOCATOR("skb_clone", SKB, -1, false),
	ALLOCATOR("skb_copy", SKB, -1, false),
};

static struct allocator *allocator_of(struct kretprobe_instance *instance)
{
	return container_of(get_kretprobe(instance), struct allocator, probe);
}

/* Returns nonzero if the return need not be probed. */
static int on_call(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct allocator *allocator = allocator_of(instance);
	struct call *call = (struct call *)instance->data;

	call->ip = regs_get_kernel_stack_nth(regs, 0);
	if (!module_at(call->ip))
		return 1;
	call->size = allocator->size < 0 ? 0 : regs_get_kernel_argument(regs, allocator->size);
	if (allocator->is_order)
		call->size = PAGE_SIZE << call->size;
	return 0;
}

static int on_result(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	const struct call *call = (const struct call *)instance->data;
	unsigned long result = regs_return_value(regs);
	enum result kind = allocator_of(instance)->result;

	if (result && kind == ADDRESS_OF_PAGE)
		result = (unsigned long)virt_to_page((void *)result);
	born(call->ip, (const void *)result, call->size, kind == SKB);
	return 0;
}

/* The first argument is the object that is freed. */
static int on_free(struct kprobe *probe, struct pt_regs *regs)
{
	forget((const void *)regs_get_kernel_argument(regs, 0));
	return 0;
}

#define FREER(name)	{ .symbol_name = name, .pre_handler = on_free }
static struct kprobe freers[] = {
	FREER("vfree"), FREER("vfree_atomic"), FREER("free_percpu"),
	FREER("napi_skb_free_stolen_head"), FREER("kfree_skb_partial"),
};
static bool freers_registered[ARRAY_SIZE(freers)];

/* A page or an skb: their tracepoints' first arguments are the same on all kernels. */
static void on_freed(void *data, const void *start)
{
	forget(start);
}

static struct {
	const char *name;
	struct tracepoint *tracepoint;
	bool registered;
} freed[] = {
	{ "mm_page_free" }, { "mm_page_free_batched" }, { "kfree_skb" }, { "consume_skb" },
};

static void find_one(struct tracepoint *tracepoint, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(freed); i++)
		if (!strcmp(tracepoint->name, freed[i].name))
			freed[i].tracepoint = tracepoint;
}

static void others_off(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(allocators); i++)
		if (allocators[i].registered)
			unregister_kretprobe(&allocators[i].probe);
	for (i = 0; i < ARRAY_SIZE(freers); i++)
		if (freers_registered[i])
			unregister_kprobe(&freers[i]);
	for (i = 0; i < ARRAY_SIZE(freed); i++)
		if (freed[i].registered)
			tracepoint_probe_unregister(freed[i].tracepoint, on_freed, NULL);
	tracepoint_synchronize_unregister();
}

/* Frees must be probed before allocations, or everything would look leaked. */
static void others_on(void)
{
	unsigned int i;

	for_each_kernel_tracepoint(find_one, NULL);
	for (i = 0; i < ARRAY_SIZE(freed); i++)
		freed[i].registered = freed[i].tracepoint &&
			!tracepoint_probe_register(freed[i].tracepoint, on_freed, NULL);
	for (i = 0; i < ARRAY_SIZE(freers); i++)
		freers_registered[i] = !register_kprobe(&freers[i]);
	for (i = 0; i < ARRAY_SIZE(allocators); i++)
		allocators[i].registered = !register_kretprobe(&allocators[i].probe);
}

/* -- modules come and go ------------------------------------------------------ */

/* Splits off the next name of `modules`; false at the end. */
static bool next_name(const char **at, char name[MODULE_NAME_LEN])
{
	size_t len = strcspn(*at, ",");

	if (!**at)
		return false;
	strscpy(name, *at, min_t(size_t, len + 1, MODULE_NAME_LEN));
	*at += len + ((*at)[len] == ',');
	return true;
}

static bool is_wanted(const struct module *module)
{
	char name[MODULE_NAME_LEN];
	const char *at = modules;

	while (next_name(&at, name))
		if (!strcmp(name, module->name))
			return true;
	return false;
}

static void watch(const struct module *module)
{
	unsigned int i;

	for (i = 0; i < MODULES_MAX; i++) {
		const struct module *was = cmpxchg(&watched[i], NULL, module);

		if (!was || was == module)
			return;
	}
}

/* If the module is loaded already: a reference to its kobject keeps it loaded. */
static void watch_loaded(const char *name)
{
	struct kobject *object = kset_find_obj(THIS_MODULE->mkobj.kobj.kset, name);
	struct module *module;

	if (!object)
		return;
	/* Built-in modules have a kobject, too. */
	module = container_of(object, struct module_kobject, kobj)->mod;
	if (module && try_module_get(module)) {
		watch(module);
		module_put(module);
	}
	kobject_put(object);
}

static void watch_all_loaded(void)
{
	char name[MODULE_NAME_LEN];
	const char *at = modules;

	while (next_name(&at, name))
		watch_loaded(name);
}

static void tell_leak(const struct object *object)
{
	char what[40] = "skb";

	if (object->size)
		snprintf(what, sizeof(what), "%s%zu byte%s", object->is_skb ? "skb of " : "",
			 object->size, plural(object->size));
	evmon_violation(&monitor, object->start, &object->born, NULL, NULL,
			"%s not freed when %s goes", what, object->module->name);
}

static void tell_leaks(const struct module *module)
{
	struct object object;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < 1 << OBJECTS_BITS; i++) {
		raw_spin_lock_irqsave(&objects_lock, flags);
		object = objects[i];
		if (object.module == module)
			objects[i].module = NULL;
		raw_spin_unlock_irqrestore(&objects_lock, flags);
		if (object.module == module && !object.freed)
			tell_leak(&object);
	}
}

static void going(const struct module *module)
{
	unsigned int i;

	for (i = 0; i < MODULES_MAX; i++) {
		if (READ_ONCE(watched[i]) != module)
			continue;
		WRITE_ONCE(watched[i], NULL);
		synchronize_rcu();
		/* An object that RCU is about to free is not leaked. */
		rcu_barrier();
		tell_leaks(module);
	}
}

static int module_event(struct notifier_block *nb, unsigned long event, void *module)
{
	if (event == MODULE_STATE_COMING && is_wanted(module))
		watch(module);
	return NOTIFY_OK;
}

static struct notifier_block module_events = { .notifier_call = module_event };

static void alloc_show(struct seq_file *m)
{
	seq_printf(m, "modules\t%s\nlost\t%lu\n", modules, READ_ONCE(lost));
}

static struct evmon_monitor monitor = {
	.name = "alloc",
	.going = going,
	.show = alloc_show,
};

static int __init evmon_alloc_init(void)
{
	int err;

	objects = kvcalloc(1 << OBJECTS_BITS, sizeof(*objects), GFP_KERNEL);
	if (!objects)
		return -ENOMEM;
	err = register_module_notifier(&module_events);
	if (err)
		goto free_objects;
	err = memory_listen(&memory);
	if (err)
		goto unregister;
	err = register_kprobes(probes, ARRAY_SIZE(probes));
	if (err)
		goto ignore;
	others_on();
	evmon_register(&monitor);
	watch_all_loaded();
	if (!*modules)
		pr_warn("no module is watched: say which, modules=NAME,...\n");
	return 0;

ignore:
	memory_ignore(&memory);
unregister:
	unregister_module_notifier(&module_events);
free_objects:
	kvfree(objects);
	return err;
}

static void __exit evmon_alloc_exit(void)
{
	evmon_unregister(&monitor);
	others_off();
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	memory_ignore(&memory);
	unregister_module_notifier(&module_events);
	kvfree(objects);
}

module_init(evmon_alloc_init);
module_exit(evmon_alloc_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Monitor of allocations");
