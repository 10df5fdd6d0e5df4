// SPDX-License-Identifier: GPL-2.0
/*
 * Several CPUs use pointers at the same time, to show how far KGCC's checks slow each other down.
 *
 * Write "CPUS OBJECTS SHARED" to /sys/kernel/debug/scaling; reading it returns the accesses of each
 * CPU, and the ns that the slowest took. Each CPU has objects of its own; with SHARED all CPUs read
 * the same ones.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#define CPUS_MAX	8
#define OBJECTS_MAX	8192
#define ACCESSES	8192	/* short, so that preemption of the machine is rare */

struct item {
	u64 value;
	u64 rest[7];
};

struct runner {
	struct item **items;
	unsigned int count;
	u64 ns, sum;
	struct completion done;
} ____cacheline_aligned;

static struct runner runners[CPUS_MAX];
static atomic_t missing;		/* CPUs not yet at the start */
static u64 slowest;

/* One access, hence one check in an instrumented module. */
static noinline u64 read_item(const struct item *item)
{
	return READ_ONCE(item->value);
}

/* All CPUs start at once; only interrupts disturb them. */
static int run(void *data)
{
	struct runner *runner = data;
	unsigned int i, at = 0;
	u64 start, sum = 0;

	atomic_dec(&missing);
	/* The starting task may be on this CPU. */
	while (atomic_read(&missing))
		cond_resched();
	preempt_disable();
	start = ktime_get_ns();
	for (i = 0; i < ACCESSES; i++) {
		sum += read_item(runner->items[at]);
		at = at + 1 < runner->count ? at + 1 : 0;
	}
	runner->ns = ktime_get_ns() - start;
	preempt_enable();
	runner->sum = sum;
	complete(&runner->done);
	return 0;
}

static struct item **make_items(unsigned int count)
{
	struct item **items = kcalloc(count, sizeof(*items), GFP_KERNEL);
	unsigned int i;

	for (i = 0; items && i < count; i++) {
		items[i] = kzalloc(sizeof(*items[i]), GFP_KERNEL);
		if (!items[i])
			break;
	}
	return items;
}

static void free_items(struct item **items, unsigned int count)
{
	unsigned int i;

	for (i = 0; items && i < count; i++)
		kfree(items[i]);
	kfree(items);
}

static void start(unsigned int cpus)
{
	struct task_struct *task;
	unsigned int cpu;

	atomic_set(&missing, cpus);
	for (cpu = 0; cpu < cpus; cpu++) {
		init_completion(&runners[cpu].done);
		task = kthread_create_on_cpu(run, &runners[cpu], cpu, "scaling/%u");
		if (IS_ERR(task)) {
			/* So that the other CPUs do not wait for it. */
			atomic_dec(&missing);
			complete(&runners[cpu].done);
		} else {
			wake_up_process(task);
		}
	}
	slowest = 0;
	for (cpu = 0; cpu < cpus; cpu++) {
		wait_for_completion(&runners[cpu].done);
		slowest = max(slowest, runners[cpu].ns);
	}
}

static int measure(unsigned int cpus, unsigned int count, bool shared)
{
	unsigned int cpu, last;
	int err = 0;

	for (cpu = 0; cpu < cpus && !err; cpu++) {
		runners[cpu].count = count;
		runners[cpu].items = shared && cpu ? runners[0].items : make_items(count);
		if (!runners[cpu].items || !runners[cpu].items[count - 1])
			err = -ENOMEM;
	}
	last = cpu;
	if (!err)
		start(cpus);
	for (cpu = 0; cpu < (shared ? 1 : last); cpu++)
		free_items(runners[cpu].items, count);
	return err;
}

static ssize_t write(struct file *file, const char __user *text, size_t size, loff_t *offset)
{
	static DEFINE_MUTEX(one);
	unsigned int cpus, count, shared;
	char line[32] = {};
	int err;

	if (size >= sizeof(line) || copy_from_user(line, text, size) ||
	    sscanf(line, "%u %u %u", &cpus, &count, &shared) != 3 ||
	    !cpus || cpus > min_t(unsigned int, num_online_cpus(), CPUS_MAX) ||
	    !count || count > OBJECTS_MAX)
		return -EINVAL;
	mutex_lock(&one);
	err = measure(cpus, count, shared);
	mutex_unlock(&one);
	return err ?: size;
}

static int show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%u %llu\n", ACCESSES, slowest);
	return 0;
}

static int open_result(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open_result,
	.read = seq_read,
	.write = write,
	.release = single_release,
};

static struct dentry *entry;

static int __init scaling_init(void)
{
	entry = debugfs_create_file("scaling", 0600, NULL, NULL, &operations);
	return 0;
}

static void __exit scaling_exit(void)
{
	debugfs_remove(entry);
}

module_init(scaling_init);
module_exit(scaling_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Pointers used by CPUs at the same time");
