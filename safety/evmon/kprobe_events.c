// SPDX-License-Identifier: GPL-2.0
/*
 * Emits events for calls of functions, by kprobes; at a function's entry they cost as much as
 * ftrace.
 *
 * A handler runs in any context with preemption off, and allocates nothing. Its places are
 * allocated before the probe is armed; both are freed before the file of their set is closed.
 */
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "kprobe_events.h"
#include "monitor.h"
#include "source_loc.h"

#define SITES_BITS	8
#define SITES		(1U << SITES_BITS)
#define SITE_PROBES	8
#define LINE_MAX_BYTES	512
/* Calls of one function that may be in flight with a return probe. */
#define UNDER_WAY	256

enum when { WHEN_ENTRY, WHEN_RETURN, WHEN_TRUE, WHEN_ZERO };
static const char *const whens[] = { "entry", "return", "true", "zero" };

/* A caller. */
struct call_site {
	unsigned long ip;		/* 0: free */
	bool is_known;			/* what follows is */
	struct evmon_site site;
	char at[48];			/* symbol+offset */
};

struct call {
	struct list_head node;
	struct kretprobe probe;		/* for entry events only its ->kp is used */
	enum when when;
	u16 type;
	unsigned int argument, size;
	long offset;
	unsigned long start, length;
	char function[64], name[48];
	atomic_long_t events;
	struct evmon_site others;	/* callers beyond the room for call sites */
	struct call_site sites[SITES];
};

struct call_set {
	struct mutex lock;
	struct list_head calls;
};

/* Saved at a function's entry, for the probe at its return. */
struct under_way {
	unsigned long object;
	u64 since;			/* ns; 0: did not have to wait */
};

/* -- callers ------------------------------------------------------------------ */

/* "symbol+0x10/0x20 [module]": cuts off "+0x10..."; returns the module, or "". */
static const char *split_symbol(char *symbol)
{
	char *length = strchr(symbol, '/'), *module = strchr(symbol, '['), *end;

	if (length)
		*length = '\0';
	if (!module)
		return "";
	end = strchr(++module, ']');
	if (end)
		*end = '\0';
	return module;
}

/* Copies the module's name into the place: the module may be unloaded. */
static void describe(const struct call *call, struct call_site *caller, unsigned long ip)
{
	char symbol[KSYM_SYMBOL_LEN];
	const char *module;

	/* A return address may already belong to the next function. */
	sprint_symbol(symbol, ip - 1);
	module = split_symbol(symbol);
	strscpy(caller->at, symbol, sizeof(caller->at));
	caller->site = (struct evmon_site){
		.file = caller->at, .name = call->name, .type = call->type,
	};
	place_add_of(&caller->site, module);
	smp_store_release(&caller->is_known, true);
}

static struct evmon_site *site_of(struct call *call, unsigned long ip)
{
	unsigned int i, start = hash_long(ip, SITES_BITS);

	for (i = 0; i < SITE_PROBES; i++) {
		struct call_site *caller = &call->sites[(start + i) % SITES];
		unsigned long was = cmpxchg(&caller->ip, 0, ip);

		if (was && was != ip)
			continue;
		if (!was)
			describe(call, caller, ip);
		if (smp_load_acquire(&caller->is_known))
			return &caller->site;
		break;
	}
	return &call->others;
}

/* -- probes ------------------------------------------------------------------- */

static unsigned long object_of(const struct call *call, struct pt_regs *regs)
{
	unsigned long argument = call->argument
		? regs_get_kernel_argument(regs, call->argument - 1)
		: regs_return_value(regs);

	return argument + call->offset;
}

static bool is_meant(const struct call *call, unsigned long object)
{
	return evmon_is_on() && (!call->length || object - call->start < call->length);
}

/* For counters the event's value is the one before. */
static u64 value_of(const struct call *call, unsigned long object)
{
	u32 value;

	if (!call->size || get_kernel_nofault(value, (u32 *)object))
		return 1;
	if (call->when == WHEN_ENTRY)
		return value;
	return call->type == EVMON_REF_INC ? value - 1 :
	       call->type == EVMON_REF_DEC ? value + 1 : value;
}

static void tell(struct call *call, unsigned long ip, unsigned long object, u64 value)
{
	atomic_long_inc(&call->events);
	evmon_event(site_of(call, ip), (void *)object, value);
}

static int on_entry(struct kprobe *probe, struct pt_regs *regs)
{
	struct call *call = container_of(probe, struct call, probe.kp);
	unsigned long object = object_of(call, regs);

	if (is_meant(call, object))
		tell(call, *(unsigned long *)kernel_stack_pointer(regs), object,
		     value_of(call, object));
	return 0;
}
NOKPROBE_SYMBOL(on_entry);

static struct call *call_of(struct kretprobe_instance *instance)
{
	return container_of(get_kretprobe(instance), struct call, probe);
}

/* A free lock is all zeros. */
static bool is_taken(const struct call *call, unsigned long lock)
{
	u32 word;

	return evmon_class_of(call->type) == EVMON_CLASS_LOCK &&
	       !get_kernel_nofault(word, (u32 *)lock) && word;
}

/* Returns nonzero if the return need not be probed. */
static int on_call(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct under_way *under_way = (struct under_way *)instance->data;
	struct call *call = call_of(instance);

	*under_way = (struct under_way){};
	if (!call->argument)
		return !evmon_is_on();
	under_way->object = object_of(call, regs);
	under_way->since = is_taken(call, under_way->object) ? ktime_get_mono_fast_ns() : 0;
	return !is_meant(call, under_way->object);
}
NOKPROBE_SYMBOL(on_call);

static bool is_told(const struct call *call, unsigned int result)
{
	return call->when == WHEN_RETURN || (call->when == WHEN_TRUE) == !!result;
}

static u64 value_at_return(const struct call *call, const struct under_way *under_way,
			   unsigned long object)
{
	if (evmon_class_of(call->type) != EVMON_CLASS_LOCK)
		return value_of(call, object);
	return under_way->since ? ktime_get_mono_fast_ns() - under_way->since : 0;
}

static int on_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct under_way *under_way = (struct under_way *)instance->data;
	struct call *call = call_of(instance);
	unsigned long result = regs_return_value(regs);

	if (!is_told(call, result))
		return 0;
	if (!call->argument && !IS_ERR_OR_NULL((void *)result))
		under_way->object = object_of(call, regs);
	if (under_way->object && is_meant(call, under_way->object))
		tell(call, get_kretprobe_retaddr(instance), under_way->object,
		     value_at_return(call, under_way, under_way->object));
	return 0;
}
NOKPROBE_SYMBOL(on_return);

/* -- lines -------------------------------------------------------------------- */

static const char *const types[] = {
#define EVENT(name, class, text) #name,
#include "events.def"
#undef EVENT
};

/*
 * Event handlers take these locks themselves: events of these functions would be lost, or caused by
 * the handler. They are allowed only for a single lock.
 */
static bool is_used_by_events(const struct call *call)
{
	return !call->length && str_has_prefix(call->function, "_raw_");
}

static int call_parse(struct call *call, const char *line)
{
	char type[24], when[8];
	int i;

	if (sscanf(line, "%23s %63s %7s %u %li %u %lx %lx %47s", type, call->function, when,
		   &call->argument, &call->offset, &call->size, &call->start, &call->length,
		   call->name) != 9)
		return -EINVAL;
	i = match_string(types, ARRAY_SIZE(types), type);
	if (i < 0)
		return i;
	call->type = i;
	i = match_string(whens, ARRAY_SIZE(whens), when);
	if (i < 0)
		return i;
	call->when = i;
	if (call->argument > 6 || (call->size && call->size != sizeof(u32)) ||
	    (!call->argument && call->when != WHEN_RETURN))
		return -EINVAL;
	return is_used_by_events(call) ? -EPERM : 0;
}

static int call_start(struct call *call)
{
	struct kretprobe *probe = &call->probe;

	probe->kp.symbol_name = call->function;
	if (call->when == WHEN_ENTRY) {
		probe->kp.pre_handler = on_entry;
		return register_kprobe(&probe->kp);
	}
	probe->entry_handler = on_call;
	probe->handler = on_return;
	probe->data_size = sizeof(struct under_way);
	probe->maxactive = UNDER_WAY;
	return register_kretprobe(probe);
}

static void call_end(struct call *call)
{
	if (call->when == WHEN_ENTRY)
		unregister_kprobe(&call->probe.kp);
	else
		unregister_kretprobe(&call->probe);
	list_del(&call->node);
	kvfree(call);
}

static int call_add(struct call_set *set, const char *line)
{
	struct call *call = kvzalloc(sizeof(*call), GFP_KERNEL);
	int err;

	if (!call)
		return -ENOMEM;
	err = call_parse(call, line);
	if (!err) {
		call->others = (struct evmon_site){
			.file = "other callers", .name = call->name, .type = call->type,
		};
		err = call_start(call);
	}
	if (err)
		kvfree(call);
	else
		list_add_tail(&call->node, &set->calls);
	return err;
}

/* -- the file ----------------------------------------------------------------- */

static int calls_show(struct seq_file *m, void *unused)
{
	struct call_set *set = m->private;
	struct call *call;

	mutex_lock(&set->lock);
	list_for_each_entry(call, &set->calls, node)
		seq_printf(m, "%s\t%s\t%s\t%s\t%ld\t%lu\n", types[call->type], call->function,
			   whens[call->when], call->name, atomic_long_read(&call->events),
			   call->probe.kp.nmissed + call->probe.nmissed);
	mutex_unlock(&set->lock);
	return 0;
}

static int calls_open(struct inode *inode, struct file *file)
{
	struct call_set *set = kzalloc(sizeof(*set), GFP_KERNEL);
	int err;

	if (!set)
		return -ENOMEM;
	mutex_init(&set->lock);
	INIT_LIST_HEAD(&set->calls);
	err = single_open(file, calls_show, set);
	if (err)
		kfree(set);
	return err;
}

/* Lines before a bad one stay in effect. */
static ssize_t calls_write(struct file *file, const char __user *source, size_t len,
			   loff_t *pos)
{
	struct call_set *set = ((struct seq_file *)file->private_data)->private;
	char *text, *rest, *line;
	int err = 0;

	if (len > LINE_MAX_BYTES)
		return -E2BIG;
	text = rest = memdup_user_nul(source, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&set->lock);
	while (!err && (line = strsep(&rest, "\n")))
		if (*line)
			err = call_add(set, line);
	mutex_unlock(&set->lock);
	kfree(text);
	return err ?: len;
}

static int calls_release(struct inode *inode, struct file *file)
{
	struct call_set *set = ((struct seq_file *)file->private_data)->private;
	struct call *call, *next;

	list_for_each_entry_safe(call, next, &set->calls, node)
		call_end(call);
	kfree(set);
	return single_release(inode, file);
}

const struct file_operations calls_fops = {
	.owner = THIS_MODULE,
	.open = calls_open,
	.read = seq_read,
	.write = calls_write,
	.llseek = seq_lseek,
	.release = calls_release,
};
