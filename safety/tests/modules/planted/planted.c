// SPDX-License-Identifier: GPL-2.0
/*
 * Faults on request: write a context and steps to /sys/kernel/debug/planted, "softirq: alloc
 * kmalloc 80; write 80; free kfree". The steps work on one object. Each is a function of its own,
 * so that reports name it.
 *
 *   alloc ALLOCATOR [SIZE]	makes the object
 *   fill			writes and reads all of it
 *   read OFFSET		one byte; write OFFSET, the same
 *   read8 OFFSET		eight bytes; write8
 *   copy OFFSET LENGTH		memcpy() into it
 *   set OFFSET LENGTH		memset() of it
 *   print OFFSET		sprintf() of five digits into it; print_hex OFFSET, of four
 *   user OFFSET LENGTH		copy_to_user() from it, to the writer's buffer
 *   next			keeps the object, for there to be others
 *   many ALLOCATOR COUNT	makes objects of 96 bytes, and keeps them
 *   first			goes back to the first that was kept
 *   free FREER [OFFSET]	ends it, or what lies at the offset
 *   elsewhere FREER OFFSET	reads one byte, twice; between, another CPU ends the object
 *   hold, release		a mutex
 *   sleep			for RCU to be done with what was freed
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define CONSTANT	80
#define CACHE_SIZE	88

struct freed_by_rcu {
	struct rcu_head rcu;
	char rest[];
};

static struct kmem_cache *cache, *cache_ctor, *cache_rcu, *cache_align, *cache_other;
static DEFINE_SPINLOCK(lock);
static DEFINE_MUTEX(held);
static struct dentry *file;
/* What is copied. */
static const char source[32768];

/* State of the current run; one at a time. */
static DEFINE_MUTEX(running);
static char *object, *neighbours[1024];
static size_t size;
static unsigned int count;
static gfp_t gfp;
static char __user *buffer;
static int result;

/* -- allocators --------------------------------------------------------------- */

#define ALLOCATOR(name, value)						\
	static noinline void *alloc_##name(size_t n) { return value; }
#include "allocators.h"
#undef ALLOCATOR

static const struct { const char *name; void *(*fn)(size_t n); } allocators[] = {
#define ALLOCATOR(name, value) { #name, alloc_##name },
#include "allocators.h"
#undef ALLOCATOR
};

/* -- freers ------------------------------------------------------------------- */

#define FREER(name, statement)						\
	static noinline void free_##name(void *p) { statement; }
#include "freers.h"
#undef FREER

static const struct { const char *name; void (*fn)(void *p); } freers[] = {
#define FREER(name, statement) { #name, free_##name },
#include "freers.h"
#undef FREER
};

/* -- accesses ----------------------------------------------------------------- */

static noinline void access_read(char *p)
{
	(void)*(volatile char *)p;
}

static noinline void access_write(char *p)
{
	*(volatile char *)p = 1;
}

static noinline void access_read8(char *p)
{
	(void)*(volatile u64 *)p;
}

static noinline void access_write8(char *p)
{
	*(volatile u64 *)p = 1;
}

static noinline void access_copy(char *p, size_t n)
{
	while (n > sizeof(source)) {
		memcpy(p, source, sizeof(source));
		p += sizeof(source);
		n -= sizeof(source);
	}
	memcpy(p, source, n);
}

/* Byte by byte, not by a string instruction. */
static noinline void access_loop(char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		((volatile char *)p)[i] = 0x11;
}

static noinline void access_set(char *p, size_t n)
{
	memset(p, 0x22, n);
}

static noinline void access_print(char *p)
{
	sprintf(p, "%d", 12345);
}

static noinline void access_print_hex(char *p)
{
	sprintf(p, "%x", 0x1234);
}

static noinline void access_user(const char *p, size_t n)
{
	result = copy_to_user(buffer, p, n) ? -EFAULT : 0;
}

static noinline void access_fill(void)
{
	size_t i;

	for (i = 0; i < size; i++)
		((volatile char *)object)[i] = i;
	for (i = 0; i < size; i++)
		if (((volatile char *)object)[i] != (char)i)
			result = -EIO;
}

/* -- steps -------------------------------------------------------------------- */

static int step_alloc(const char *name, long n)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(allocators); i++) {
		if (strcmp(allocators[i].name, name))
			continue;
		size = n;
		object = allocators[i].fn(n);
		return IS_ERR_OR_NULL(object) ? -ENOMEM : 0;
	}
	return -EINVAL;
}

static int step_free(const char *name, long offset)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(freers); i++) {
		if (strcmp(freers[i].name, name))
			continue;
		freers[i].fn(object + offset);
		return 0;
	}
	return -EINVAL;
}

static void free_here(void *name)
{
	result = step_free(name, 0);
}

/* This CPU stays in the loop until the other has freed, and keeps its translation of the page. */
static int step_elsewhere(const char *name, long offset)
{
	unsigned int other = cpumask_any_but(cpu_online_mask, get_cpu());
	int err = -ENODEV;

	if (other < nr_cpu_ids) {
		access_read(object + offset);
		err = smp_call_function_single(other, free_here, (void *)name, 1);
		access_read(object + offset);
	}
	put_cpu();
	return err;
}

static int step_next(void)
{
	if (count == ARRAY_SIZE(neighbours))
		return -ENOSPC;
	neighbours[count++] = object;
	return 0;
}

static int step_many(const char *name, long n)
{
	int err = 0;

	while (!err && n--)
		err = step_alloc(name, 96) ?: step_next();
	return err;
}

static int step_first(void)
{
	object = neighbours[0];
	return count ? 0 : -ENOENT;
}

static int step(char *text)
{
	char verb[16], name[32] = "";
	long a = 0, b = 0;

	if (sscanf(text, "%15s %ld %ld", verb, &a, &b) < 2)
		sscanf(text, "%15s %31s %ld", verb, name, &a);
	if (!strcmp(verb, "alloc"))
		return step_alloc(name, a);
	if (!strcmp(verb, "free"))
		return step_free(name, a);
	if (!strcmp(verb, "elsewhere"))
		return step_elsewhere(name, a);
	if (!strcmp(verb, "next"))
		return step_next();
	if (!strcmp(verb, "many"))
		return step_many(name, a);
	if (!strcmp(verb, "first"))
		return step_first();
	if (!strcmp(verb, "fill"))
		access_fill();
	else if (!strcmp(verb, "read"))
		access_read(object + a);
	else if (!strcmp(verb, "write"))
		access_write(object + a);
	else if (!strcmp(verb, "read8"))
		access_read8(object + a);
	else if (!strcmp(verb, "write8"))
		access_write8(object + a);
	else if (!strcmp(verb, "copy"))
		access_copy(object + a, b);
	else if (!strcmp(verb, "loop"))
		access_loop(object + a, b);
	else if (!strcmp(verb, "set"))
		access_set(object + a, b);
	else if (!strcmp(verb, "print"))
		access_print(object + a);
	else if (!strcmp(verb, "print_hex"))
		access_print_hex(object + a);
	else if (!strcmp(verb, "user"))
		access_user(object + a, b);
	else if (!strcmp(verb, "hold"))
		mutex_lock(&held);
	else if (!strcmp(verb, "release"))
		mutex_unlock(&held);
	else if (!strcmp(verb, "sleep"))
		rcu_barrier();
	else
		return -EINVAL;
	return 0;
}

static void steps(char *text)
{
	char *one;

	while (!result && (one = strsep(&text, ";"))) {
		int err;

		one = strim(one);
		err = *one ? step(one) : 0;
		result = result ?: err;
	}
}

/* -- contexts ----------------------------------------------------------------- */

static char *steps_text;
static DECLARE_COMPLETION(steps_done);

static void steps_there(void)
{
	steps(steps_text);
	complete(&steps_done);
}

static void in_tasklet(struct tasklet_struct *tasklet)
{
	steps_there();
}
static DECLARE_TASKLET(tasklet, in_tasklet);

static void in_irq_work(struct irq_work *work)
{
	steps_there();
}
static struct irq_work irq_work = IRQ_WORK_INIT_HARD(in_irq_work);

static void in_work(struct work_struct *work)
{
	steps_there();
}
static DECLARE_WORK(kthread_work, in_work);

static int run(const char *context, char *text)
{
	unsigned long flags;

	result = 0;
	gfp = GFP_ATOMIC;
	steps_text = text;
	reinit_completion(&steps_done);
	if (!strcmp(context, "task")) {
		gfp = GFP_KERNEL;
		steps(text);
		return result;
	}
	if (!strcmp(context, "spin")) {
		spin_lock_irqsave(&lock, flags);
		steps(text);
		spin_unlock_irqrestore(&lock, flags);
		return result;
	}
	if (!strcmp(context, "softirq"))
		tasklet_schedule(&tasklet);
	else if (!strcmp(context, "hardirq"))
		irq_work_queue(&irq_work);
	else if (!strcmp(context, "kthread"))
		schedule_work(&kthread_work);
	else
		return -EINVAL;
	wait_for_completion(&steps_done);
	return result;
}

static void forget_neighbours(void)
{
	while (count)
		kfree(neighbours[--count]);
}

static ssize_t planted_write(struct file *f, const char __user *from, size_t len,
			     loff_t *pos)
{
	char text[256], *rest = text, *context;
	int err;

	if (len >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = '\0';
	context = strsep(&rest, ":");
	if (!rest)
		return -EINVAL;
	mutex_lock(&running);
	buffer = (char __user *)from;
	err = run(context, rest);
	forget_neighbours();
	mutex_unlock(&running);
	return err ?: len;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.write = planted_write,
};

static void constructed(void *p)
{
	memset(p, 0x33, CACHE_SIZE);
}

static int __init planted_init(void)
{
	cache = kmem_cache_create("planted", CACHE_SIZE, 0, 0, NULL);
	cache_ctor = kmem_cache_create("planted_ctor", CACHE_SIZE, 0, 0, constructed);
	cache_rcu = kmem_cache_create("planted_rcu", CACHE_SIZE, 0,
				      SLAB_TYPESAFE_BY_RCU, NULL);
	cache_align = kmem_cache_create("planted_align", CACHE_SIZE, 64,
					SLAB_HWCACHE_ALIGN, NULL);
	cache_other = kmem_cache_create("planted_other", CACHE_SIZE, 0, 0, NULL);
	file = debugfs_create_file("planted", 0200, NULL, NULL, &fops);
	return 0;
}

static void __exit planted_exit(void)
{
	debugfs_remove(file);
	rcu_barrier();
	kmem_cache_destroy(cache);
	kmem_cache_destroy(cache_ctor);
	kmem_cache_destroy(cache_rcu);
	kmem_cache_destroy(cache_align);
	kmem_cache_destroy(cache_other);
}

module_init(planted_init);
module_exit(planted_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Faults to order, for the tests of the safety kit");
