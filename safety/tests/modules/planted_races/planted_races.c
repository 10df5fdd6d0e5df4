// SPDX-License-Identifier: GPL-2.0
/*
 * Data races on request: write a case's name to /sys/kernel/debug/planted_races, and two threads,
 * on CPUs 0 and 1 if there are two, execute its two functions until "stop" is written.  The cases
 * whose names begin with "sound" do the same right.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/uaccess.h>

#include "newer.h"

struct node {
	struct list_head list;
	struct rcu_head rcu;
	int value;
};

struct pair {
	long first, second;
	int third;
};

/* What the two threads share. */
static struct shared {
	int count, flag, ready;
	long total;
	unsigned long bits;
	unsigned int a : 1, b : 1;
	u8 left, right;
	int refs;
	atomic_t atomic;
	struct pair pair;
	struct { u8 odd; u64 wide; } __packed packed;
	u32 ring[8], head, tail;
	long own[2][8];
	char text[32];
	struct node *node;
	struct list_head list;
	seqcount_spinlock_t seq;
	spinlock_t lock, other;
	rwlock_t rwlock;
	struct mutex mutex;
} shared;

/* Of interrupts. */
#define PERIOD	ns_to_ktime(150 * NSEC_PER_USEC)

static struct shared *const s = &shared;
static struct hrtimer hrtimer;
static struct timer_list timer;

/* Where the compiler may not leave a value out. */
static int sink;

static void use(long value)
{
	WRITE_ONCE(sink, value);
}

/* -- Races ---------------------------------------------------------------------------- */

static void counter_up(void)
{
	s->count++;
}

static void flag_set(void)
{
	s->flag = !s->flag;
}

static void flag_read(void)
{
	use(s->flag);
}

static void count_read_marked(void)
{
	use(READ_ONCE(s->count));
}

static void node_replace(void)
{
	static struct node nodes[2];

	s->node = s->node == &nodes[0] ? &nodes[1] : &nodes[0];
}

static void node_read(void)
{
	struct node *node = s->node;

	if (node)
		use(node->value);
}

static void total_locked(void)
{
	spin_lock(&s->lock);
	s->total++;
	spin_unlock(&s->lock);
}

static void total_unlocked_read(void)
{
	use(s->total);
}

static void total_other_lock(void)
{
	spin_lock(&s->other);
	s->total++;
	spin_unlock(&s->other);
}

static void ready_checked_early(void)
{
	if (s->ready & 1)
		return;
	mutex_lock(&s->mutex);
	s->ready |= 1;
	mutex_unlock(&s->mutex);
}

static void ready_undone(void)
{
	mutex_lock(&s->mutex);
	s->ready = 0;
	mutex_unlock(&s->mutex);
}

static void total_read_locked(void)
{
	read_lock(&s->rwlock);
	s->total++;
	read_unlock(&s->rwlock);
}

static void atomic_up(void)
{
	atomic_inc(&s->atomic);
}

static void atomic_read_plain(void)
{
	use(s->atomic.counter);
}

static void bits_plain(void)
{
	s->bits ^= 2;
}

static void bits_atomic(void)
{
	change_bit(0, &s->bits);
}

static void bitfield_a(void)
{
	s->a = !s->a;
}

static void bitfield_b(void)
{
	s->b = !s->b;
}

static void list_change(void)
{
	static struct node node;

	node.value++;
	list_add(&node.list, &s->list);
	list_del_init(&node.list);
}

static void list_walk(void)
{
	use(s->list.next == &s->list);
}

static void text_by_kernel(void)
{
	snprintf(s->text, sizeof(s->text), "%d", jiffies_to_msecs(jiffies) + s->count++);
}

static void text_read(void)
{
	use(s->text[0] + s->text[3]);
}

static enum hrtimer_restart on_hrtimer(struct hrtimer *one)
{
	s->count++;
	hrtimer_forward_now(one, PERIOD);
	return HRTIMER_RESTART;
}

static void on_timer(struct timer_list *one)
{
	s->total++;
	mod_timer(one, jiffies + 1);
}

static void count_with_lock_only(void)
{
	spin_lock(&s->lock);
	s->count++;
	spin_unlock(&s->lock);
}

static void total_with_lock_only(void)
{
	unsigned int i;

	spin_lock(&s->lock);
	for (i = 0; i < 50; i++)
		s->total++;
	spin_unlock(&s->lock);
}

static void pair_copy(void)
{
	struct pair copy = s->pair;

	barrier_data(&copy);
}

static void pair_change(void)
{
	s->pair.second++;
}

static void seqcount_change(void)
{
	spin_lock(&s->lock);
	write_seqcount_begin(&s->seq);
	s->pair.first++;
	s->pair.second++;
	write_seqcount_end(&s->seq);
	spin_unlock(&s->lock);
}

static void seqcount_ignored(void)
{
	use(s->pair.first);
}

static void wide_change(void)
{
	s->packed.wide += 0x100000001;
}

static void wide_read(void)
{
	use(s->packed.wide);
}

static void refs_drop(void)
{
	if (!--s->refs)
		s->refs = 1000;
}

static void ring_put(void)
{
	if (s->head - s->tail == ARRAY_SIZE(s->ring))
		return;
	s->ring[s->head % ARRAY_SIZE(s->ring)] = s->head;
	s->head++;
}

static void ring_take(void)
{
	if (s->head == s->tail)
		return;
	use(s->ring[s->tail % ARRAY_SIZE(s->ring)]);
	s->tail++;
}

static void own_up(void)
{
	s->own[0][0]++;
}

static void own_sum(void)
{
	use(s->own[0][0] + s->own[1][0]);
}

static void text_clear(void)
{
	memset(s->text, s->count++, sizeof(s->text));
}

static void text_write_marked(void)
{
	WRITE_ONCE(s->text[1], s->text[1] + 1);
}

/* -- Sound ------------------------------------------------------------------------------ */

static void sound_mutex(void)
{
	mutex_lock(&s->mutex);
	s->count++;
	s->flag = !s->flag;
	mutex_unlock(&s->mutex);
}

static void sound_irq(void)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->count++;
	spin_unlock_irqrestore(&s->lock, flags);
}

static enum hrtimer_restart on_sound_hrtimer(struct hrtimer *one)
{
	spin_lock(&s->lock);
	s->count++;
	spin_unlock(&s->lock);
	hrtimer_forward_now(one, PERIOD);
	return HRTIMER_RESTART;
}

static void sound_flag_set(void)
{
	WRITE_ONCE(s->flag, !READ_ONCE(s->flag));
}

static void sound_flag_read(void)
{
	use(READ_ONCE(s->flag));
}

static void sound_atomic(void)
{
	atomic_inc(&s->atomic);
	use(atomic_read(&s->atomic));
}

/* The payload is the side's whose turn it is. */
static void sound_hand_over(int mine)
{
	if (smp_load_acquire(&s->ready) != mine)
		return;
	s->count++;
	s->pair.first += s->count;
	smp_store_release(&s->ready, !mine);
}

static void sound_hand_over_one(void)
{
	sound_hand_over(0);
}

static void sound_hand_over_two(void)
{
	sound_hand_over(1);
}

static void sound_seq_read(void)
{
	unsigned int seq;
	long first;

	do {
		seq = read_seqcount_begin(&s->seq);
		first = s->pair.first + s->pair.second;
	} while (read_seqcount_retry(&s->seq, seq));
	use(first);
}

static void sound_rcu_replace(void)
{
	struct node *node = kmalloc(sizeof(*node), GFP_KERNEL), *old;

	if (!node)
		return;
	node->value = 7;
	spin_lock(&s->lock);
	old = s->node;
	rcu_assign_pointer(s->node, node);
	spin_unlock(&s->lock);
	if (old)
		kfree_rcu(old, rcu);
}

static void sound_rcu_read(void)
{
	struct node *node;

	rcu_read_lock();
	node = rcu_dereference_raw(s->node);
	if (node)
		use(node->value);
	rcu_read_unlock();
}

static void sound_annotated(void)
{
	use(data_race(s->count));
}

static void sound_left(void)
{
	s->left++;
}

static void sound_right(void)
{
	s->right++;
}

static void sound_bit_lock(void)
{
	while (test_and_set_bit_lock(0, &s->bits))
		cpu_relax();
	s->count++;
	clear_bit_unlock(0, &s->bits);
}

static void sound_rwlock_write(void)
{
	write_lock(&s->rwlock);
	s->total++;
	write_unlock(&s->rwlock);
}

static void sound_rwlock_read(void)
{
	read_lock(&s->rwlock);
	use(s->total);
	read_unlock(&s->rwlock);
}

static void sound_own_one(void)
{
	s->own[0][0]++;
}

static void sound_own_two(void)
{
	s->own[1][0]++;
}

/* -- Cases ------------------------------------------------------------------------------ */

/* @two is done by the second thread; @hrtimer or @timer, instead, on the first thread's CPU. */
static const struct kind {
	const char *name;
	void (*one)(void), (*two)(void);
	enum hrtimer_restart (*hrtimer)(struct hrtimer *one);
	void (*timer)(struct timer_list *one);
} kinds[] = {
	{ "counter", counter_up, counter_up },
	{ "flag", flag_set, flag_read },
	{ "marked_reader", counter_up, count_read_marked },
	{ "pointer", node_replace, node_read },
	{ "unlocked_read", total_locked, total_unlocked_read },
	{ "two_locks", total_locked, total_other_lock },
	{ "checked_early", ready_checked_early, ready_undone },
	{ "read_lock", total_read_locked, total_read_locked },
	{ "atomic_plain", atomic_up, atomic_read_plain },
	{ "bits", bits_plain, bits_atomic },
	{ "bitfield", bitfield_a, bitfield_b },
	{ "list", list_change, list_walk },
	{ "by_kernel", text_by_kernel, text_read },
	{ "hardirq", count_with_lock_only, .hrtimer = on_hrtimer },
	{ "softirq", total_with_lock_only, .timer = on_timer },
	{ "structure", pair_copy, pair_change },
	{ "seqcount", seqcount_change, seqcount_ignored },
	{ "unaligned", wide_change, wide_read },
	{ "reference", refs_drop, refs_drop },
	{ "ring", ring_put, ring_take },
	{ "others_counter", own_up, own_sum },
	{ "cleared", text_clear, text_write_marked },
	{ "sound_mutex", sound_mutex, sound_mutex },
	{ "sound_irq", sound_irq, .hrtimer = on_sound_hrtimer },
	{ "sound_flag", sound_flag_set, sound_flag_read },
	{ "sound_atomic", sound_atomic, sound_atomic },
	{ "sound_hand_over", sound_hand_over_one, sound_hand_over_two },
	{ "sound_seqcount", seqcount_change, sound_seq_read },
	{ "sound_rcu", sound_rcu_replace, sound_rcu_read },
	{ "sound_annotated", sound_mutex, sound_annotated },
	{ "sound_neighbours", sound_left, sound_right },
	{ "sound_bit_lock", sound_bit_lock, sound_bit_lock },
	{ "sound_rwlock", sound_rwlock_write, sound_rwlock_read },
	{ "sound_own", sound_own_one, sound_own_two },
};

static struct task_struct *threads[2];
static const struct kind *running;
static DEFINE_MUTEX(control);

static int go_on(void *data)
{
	void (*fn)(void) = data;
	unsigned int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 100; i++)
			fn();
		cond_resched();
	}
	return 0;
}

static int thread_start(unsigned int n, void (*fn)(void))
{
	struct task_struct *thread = kthread_create(go_on, fn, "racing%u", n);

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, n % num_online_cpus());
	threads[n] = thread;
	wake_up_process(thread);
	return 0;
}

static void timers_start(const struct kind *kind)
{
	if (kind->hrtimer) {
		newer_hrtimer_setup(&hrtimer, kind->hrtimer);
		hrtimer_start(&hrtimer, PERIOD, HRTIMER_MODE_REL_PINNED_HARD);
	}
	if (kind->timer) {
		timer_setup(&timer, kind->timer, TIMER_PINNED);
		timer.expires = jiffies + 1;
		add_timer_on(&timer, 0);
	}
}

static void stop(void)
{
	bool owned = running && running->one == sound_rcu_replace;
	unsigned int n;

	if (!running)
		return;
	for (n = 0; n < ARRAY_SIZE(threads); n++)
		if (threads[n])
			kthread_stop(threads[n]);
	memset(threads, 0, sizeof(threads));
	if (running->hrtimer)
		hrtimer_cancel(&hrtimer);
	if (running->timer)
		newer_timer_delete_sync(&timer);
	running = NULL;
	/* The last of "sound_rcu": nobody reads it any more. */
	if (owned)
		kfree(s->node);
}

/* On CPU 0, where the timers run, too. */
static long start_here(void *data)
{
	const struct kind *kind = data;
	int err = thread_start(0, kind->one);

	if (!err && kind->two)
		err = thread_start(1, kind->two);
	timers_start(kind);
	return err;
}

static void shared_init(void)
{
	memset(s, 0, sizeof(*s));
	spin_lock_init(&s->lock);
	spin_lock_init(&s->other);
	rwlock_init(&s->rwlock);
	mutex_init(&s->mutex);
	seqcount_spinlock_init(&s->seq, &s->lock);
	INIT_LIST_HEAD(&s->list);
}

static int start(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].name, name))
			continue;
		shared_init();
		running = &kinds[i];
		return work_on_cpu(0, start_here, (void *)running);
	}
	return strcmp(name, "stop") ? -ENOENT : 0;
}

static ssize_t races_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char text[32];
	int err;

	if (len >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = '\0';
	mutex_lock(&control);
	stop();
	err = start(strim(text));
	mutex_unlock(&control);
	return err ?: len;
}

/* The names, a line each. */
static ssize_t races_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	char text[1024];
	unsigned int i, at = 0;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		at += scnprintf(text + at, sizeof(text) - at, "%s\n", kinds[i].name);
	return simple_read_from_buffer(to, len, pos, text, at);
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.read = races_read,
	.write = races_write,
};

static struct dentry *file;

static int __init races_init(void)
{
	file = debugfs_create_file("planted_races", 0600, NULL, NULL, &fops);
	return 0;
}

static void __exit races_exit(void)
{
	debugfs_remove(file);
	stop();
}

module_init(races_init);
module_exit(races_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Data races to order, for the tests of the safety kit");
