// SPDX-License-Identifier: GPL-2.0
/*
 * Planted faults, one function each: write a name to /sys/kernel/debug/plants, and the writing task
 * commits the fault. plants.def lists them.
 */
#include <linux/completion.h>
#include <linux/debug_locks.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kasan.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "plants.h"

long off = 1;
volatile u64 sink;
char __user *user;

static struct dentry *file;
static struct kmem_cache *cache;

/* A constructor keeps it from being merged with other caches. */
static void constructed(void *p)
{
	memset(p, 0, OWN_SIZE);
}

struct kmem_cache *own_cache(void)
{
	return cache;
}

void *own_object(void)
{
	void *p = kmem_cache_alloc(cache, GFP_KERNEL);

	/* The memory before the first object of a page may be anything. */
	if (p && !offset_in_page(p))
		return kmem_cache_alloc(cache, GFP_KERNEL);
	return p;
}

/* -- other contexts -------------------------------------------------------------- */

static void (*elsewhere)(void);
static struct completion elsewhere_done;

static void run_elsewhere(void)
{
	elsewhere();
	complete(&elsewhere_done);
}

static void in_work(struct work_struct *unused)
{
	run_elsewhere();
}
static DECLARE_WORK(work, in_work);

static void in_tasklet(struct tasklet_struct *unused)
{
	run_elsewhere();
}
static DECLARE_TASKLET(tasklet, in_tasklet);

static void in_irq_work(struct irq_work *unused)
{
	run_elsewhere();
}
static struct irq_work irq_work = IRQ_WORK_INIT_HARD(in_irq_work);

static void in_timer(struct timer_list *unused)
{
	run_elsewhere();
}
static DEFINE_TIMER(timer, in_timer);

static void expect(void (*fn)(void))
{
	elsewhere = fn;
	init_completion(&elsewhere_done);
}

void in_work_of(void (*fn)(void))
{
	expect(fn);
	schedule_work(&work);
	wait_for_completion(&elsewhere_done);
}

void in_softirq_of(void (*fn)(void))
{
	expect(fn);
	tasklet_schedule(&tasklet);
	wait_for_completion(&elsewhere_done);
}

void in_hardirq_of(void (*fn)(void))
{
	expect(fn);
	irq_work_queue(&irq_work);
	wait_for_completion(&elsewhere_done);
}

void in_timer_of(void (*fn)(void))
{
	expect(fn);
	mod_timer(&timer, jiffies + 1);
	wait_for_completion(&elsewhere_done);
}

/* -- the file -------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*fn)(void);
} plants[] = {
#define PLANT(name, kind, wrong, tools) { #name, name },
#include "plants.def"
#undef PLANT
};

static ssize_t plants_write(struct file *f, const char __user *from, size_t len, loff_t *pos)
{
	char name[64] = "";
	unsigned int i;

	if (len >= sizeof(name))
		return -E2BIG;
	if (copy_from_user(name, from, len))
		return -EFAULT;
	for (i = 0; i < ARRAY_SIZE(plants); i++) {
		if (strcmp(plants[i].name, name))
			continue;
		user = (char __user *)from;
		plants[i].fn();
		return len;
	}
	return -ENOENT;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.write = plants_write,
};

/* -- lockdep --------------------------------------------------------------------- */

#ifdef CONFIG_LOCKDEP
/*
 * Lockdep stops at its first report, and at KASAN's. It is switched on again while the report is
 * being printed: few locks were taken meanwhile that it missed.
 */
static struct tracepoint *console;

static void go_on(void *unused, const char *text, size_t len)
{
	debug_locks = 1;
}

static void find_console(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "console"))
		console = tp;
}

static int keep_lockdep_on(void)
{
	for_each_kernel_tracepoint(find_console, NULL);
	return console ? tracepoint_probe_register(console, go_on, NULL) : -ENOENT;
}

static void let_lockdep_stop(void)
{
	tracepoint_probe_unregister(console, go_on, NULL);
	tracepoint_synchronize_unregister();
}
#else
static int keep_lockdep_on(void)
{
	return 0;
}

static void let_lockdep_stop(void)
{
}
#endif

#if IS_ENABLED(CONFIG_KASAN_MODULE_TEST)
/* Declared for KASAN's own tests only. */
bool kasan_save_enable_multi_shot(void);
#endif

static int __init plants_init(void)
{
	int err;

	cache = kmem_cache_create("plants", OWN_SIZE, 64, 0, constructed);
	if (!cache)
		return -ENOMEM;
	err = keep_lockdep_on();
	if (err) {
		kmem_cache_destroy(cache);
		return err;
	}
#if IS_ENABLED(CONFIG_KASAN_MODULE_TEST)
	kasan_save_enable_multi_shot();
#endif
	file = debugfs_create_file("plants", 0200, NULL, NULL, &fops);
	return 0;
}

static void __exit plants_exit(void)
{
	debugfs_remove(file);
	let_lockdep_stop();
	rcu_barrier();
	kmem_cache_destroy(cache);
}

module_init(plants_init);
module_exit(plants_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Planted faults, for the table of what finds them");
