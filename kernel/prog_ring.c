// SPDX-License-Identifier: GPL-2.0
/*
 * Implements prog_ring.h. A program may be called where nothing may be woken, so readers are woken
 * by irq_work. A full ring drops new records: old ones, which may be the beginning of what
 * happened, cannot be pushed out by a flood.
 *
 * Programs pay for the records, so those are freed with the last program, though a reader may
 * still have the ring.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "prog_ring.h"
#include "uapi/syscript.h"

#define HEADER	(sizeof(struct syscript_record) / sizeof(u64))
#define WORDS_MAX	(HEADER + SYSCRIPT_RING_VALUES_MAX)

/**
 * struct prog_ring - a ring
 * @refs:    of the state, and of each reader
 * @lock:    guards the fields up to @dropped
 * @records: @entries times @words words; NULL: the ring has ended
 * @written, @read: numbers of records, modulo 2^32
 * @number:  of the next record
 * @wake:    wakes the tasks at @wait
 */
struct prog_ring {
	refcount_t refs;
	spinlock_t lock;
	u64 *records;
	u32 entries, words;
	u32 written, read;
	u64 number, dropped;
	wait_queue_head_t wait;
	struct irq_work wake;
};

static size_t records_size(const struct syscript_state *def)
{
	return def->entries * (HEADER * sizeof(u64) + def->value_size);
}

u64 prog_ring_size(const struct syscript_state *def)
{
	return sizeof(struct prog_ring) + records_size(def);
}

/* In a hard interrupt, as a timerfd wakes its readers; with PREEMPT_RT in a thread. */
static void ring_wake(struct irq_work *work)
{
	wake_up_interruptible_poll(&container_of(work, struct prog_ring, wake)->wait,
				   EPOLLIN | EPOLLRDNORM);
}

struct prog_ring *prog_ring_make(const struct syscript_state *def)
{
	struct prog_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);

	if (!ring)
		return NULL;
	refcount_set(&ring->refs, 1);
	spin_lock_init(&ring->lock);
	init_waitqueue_head(&ring->wait);
	init_irq_work(&ring->wake, ring_wake);
	ring->entries = def->entries;
	ring->words = HEADER + def->value_size / sizeof(u64);
	ring->records = kvmalloc(records_size(def), GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL |
						    __GFP_NOWARN);
	if (ring->records)
		return ring;
	kfree(ring);
	return NULL;
}

struct prog_ring *prog_ring_get(struct prog_ring *ring)
{
	refcount_inc(&ring->refs);
	return ring;
}

void prog_ring_put(struct prog_ring *ring)
{
	if (!refcount_dec_and_test(&ring->refs))
		return;
	irq_work_sync(&ring->wake);
	kfree(ring);
}

void prog_ring_end(struct prog_ring *ring)
{
	u64 *records;

	spin_lock_bh(&ring->lock);
	records = ring->records;
	WRITE_ONCE(ring->records, NULL);
	spin_unlock_bh(&ring->lock);
	/* All readers: no later event wakes those that wait exclusively. */
	wake_up_interruptible_all(&ring->wait);
	kvfree(records);
	prog_ring_put(ring);
}

/* -- Writing ----------------------------------------------------------------------- */

static u64 *record_at(const struct prog_ring *ring, u32 n)
{
	return ring->records + (size_t)(n & (ring->entries - 1)) * ring->words;
}

static bool write_record(struct prog_ring *ring, const u64 *values)
{
	u64 number = ring->number++, *record;

	lockdep_assert_held(&ring->lock);
	if (ring->written - ring->read == ring->entries) {
		ring->dropped++;
		return false;
	}
	record = record_at(ring, ring->written);
	record[0] = number;
	record[1] = (u64)jiffies * TICK_NSEC;
	memcpy(record + HEADER, values, (ring->words - HEADER) * sizeof(u64));
	WRITE_ONCE(ring->written, ring->written + 1);
	return true;
}

bool prog_ring_write(struct prog_ring *ring, const u64 *values)
{
	bool fits;

	spin_lock(&ring->lock);
	fits = write_record(ring, values);
	spin_unlock(&ring->lock);
	/* A full barrier between the record and the look at waiting tasks. */
	if (wq_has_sleeper(&ring->wait))
		irq_work_queue(&ring->wake);
	return fits;
}

/* -- Reading ----------------------------------------------------------------------- */

static bool has_ended(const struct prog_ring *ring)
{
	return !READ_ONCE(ring->records);
}

static bool has_records(const struct prog_ring *ring)
{
	return !has_ended(ring) && READ_ONCE(ring->written) != READ_ONCE(ring->read);
}

/* Copies the oldest record. */
static bool see_record(struct prog_ring *ring, u64 *record)
{
	bool seen;

	spin_lock_bh(&ring->lock);
	seen = has_records(ring);
	if (seen)
		memcpy(record, record_at(ring, ring->read), ring->words * sizeof(u64));
	spin_unlock_bh(&ring->lock);
	return seen;
}

/* Removes the record with this number, unless another reader has removed it. */
static bool remove_record(struct prog_ring *ring, u64 number)
{
	bool removed;

	spin_lock_bh(&ring->lock);
	removed = has_records(ring) && *record_at(ring, ring->read) == number;
	if (removed)
		WRITE_ONCE(ring->read, ring->read + 1);
	spin_unlock_bh(&ring->lock);
	return removed;
}

/*
 * Copies records to the process. Returns the bytes, or -EFAULT if the first does not arrive. A
 * record stays until it has arrived. The copy may wait for memory, so no lock is held.
 */
static ssize_t copy_records(struct prog_ring *ring, char __user *to, size_t len)
{
	size_t size = ring->words * sizeof(u64), done = 0;
	u64 record[WORDS_MAX];

	/* The first one is taken even from a task that is to end: the caller waits for it. */
	while (len - done >= size && !(done && fatal_signal_pending(current)) &&
	       see_record(ring, record)) {
		/* The minimum is @size, for a compiler that does not know it. */
		if (copy_to_user(to + done, record, min(size, sizeof(record))))
			return done ?: -EFAULT;
		if (remove_record(ring, record[0]))
			done += size;
		cond_resched();
	}
	return done;
}

static ssize_t ring_file_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct prog_ring *ring = file->private_data;
	ssize_t done;

	if (len < ring->words * sizeof(u64))
		return -EINVAL;
	for (;;) {
		done = copy_records(ring, to, len);
		if (done || has_ended(ring))
			return done;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(ring->wait, has_records(ring) || has_ended(ring)))
			return -ERESTARTSYS;
	}
}

static __poll_t ring_file_poll(struct file *file, struct poll_table_struct *wait)
{
	struct prog_ring *ring = file->private_data;

	poll_wait(file, &ring->wait, wait);
	/* Before the look at the ring; prog_ring_write() has the other barrier. */
	smp_mb();
	return (has_records(ring) ? EPOLLIN | EPOLLRDNORM : 0) |
	       (has_ended(ring) ? EPOLLHUP : 0);
}

static int ring_file_release(struct inode *inode, struct file *file)
{
	prog_ring_put(file->private_data);
	return 0;
}

static void ring_file_fdinfo(struct seq_file *m, struct file *file)
{
	struct prog_ring *ring = file->private_data;
	u64 number, dropped;
	u32 waiting;

	spin_lock_bh(&ring->lock);
	number = ring->number;
	dropped = ring->dropped;
	waiting = ring->records ? ring->written - ring->read : 0;
	spin_unlock_bh(&ring->lock);
	seq_printf(m, "syscript-records:\t%llu\n", number);
	seq_printf(m, "syscript-dropped:\t%llu\n", dropped);
	seq_printf(m, "syscript-unread:\t%u\n", waiting);
}

static const struct file_operations ring_file_ops = {
	.owner = THIS_MODULE,
	.read = ring_file_read,
	.poll = ring_file_poll,
	.release = ring_file_release,
	.show_fdinfo = ring_file_fdinfo,
	.llseek = noop_llseek,
};

struct file *prog_ring_open(struct prog_ring *ring)
{
	return anon_inode_getfile("[syscript-events]", &ring_file_ops, ring, O_RDONLY);
}
