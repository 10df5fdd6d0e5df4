// SPDX-License-Identifier: GPL-2.0
/*
 * A peer may lie within another object, to which valid pointers of the same value exist. So it
 * counts only for the task that made it, and not for long: when the set is full, the oldest is
 * dropped.
 */
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>

#include "check.h"
#include "oob_pointer.h"

#define WAYS	4

struct peer {
	unsigned long address;		/* 0: none */
	const struct task_struct *task;	/* compared only, never dereferenced */
	struct kgcc_object object;
	const char *where;
};

static struct peer peers[KGCC_PEER_SETS][WAYS];
static u8 turns[KGCC_PEER_SETS];
u64 kgcc_peers[KGCC_PEER_SETS];
static raw_spinlock_t locks[KGCC_PEER_SETS] = {
	[0 ... KGCC_PEER_SETS - 1] = __RAW_SPIN_LOCK_UNLOCKED(locks),
};

static bool is_alive(const struct peer *peer)
{
	unsigned long value;

	/* A witness on a stack disappears with the stack. */
	return peer->address && !get_kernel_nofault(value, peer->object.witness) &&
	       value == peer->object.value;
}

static struct peer *find(unsigned long address)
{
	struct peer *set = peers[kgcc_peer_set(address)];

	for (unsigned int i = 0; i < WAYS; i++) {
		if (set[i].address != address || set[i].task != current)
			continue;
		if (is_alive(&set[i]))
			return &set[i];
		set[i].address = 0;
	}
	return NULL;
}

/* Call it with the set's lock held. */
static u64 bits_of(const struct peer *set)
{
	u64 bits = 0;

	for (unsigned int i = 0; i < WAYS; i++)
		if (set[i].address)
			bits |= kgcc_peer_bit(set[i].address);
	return bits;
}

void kgcc_peer_add(unsigned long address, const struct kgcc_object *object, const char *where)
{
	unsigned int set = kgcc_peer_set(address);
	unsigned long flags;
	struct peer *peer;
	bool known;

	if (!address)
		return;
	raw_spin_lock_irqsave(&locks[set], flags);
	peer = find(address);
	known = peer;
	if (!peer)
		peer = &peers[set][turns[set]++ % WAYS];
	/* The bit is set first: whichever CPU sees the peer sees its bit. */
	WRITE_ONCE(kgcc_peers[set], kgcc_peers[set] | kgcc_peer_bit(address));
	*peer = (struct peer) { address, current, *object, where };
	WRITE_ONCE(kgcc_peers[set], bits_of(peers[set]));
	raw_spin_unlock_irqrestore(&locks[set], flags);
	if (!known)
		kgcc_check_forget(kgcc_slot(address));
}

bool kgcc_peer_find(unsigned long address, struct kgcc_object *object, const char **where)
{
	raw_spinlock_t *lock = &locks[kgcc_peer_set(address)];
	unsigned long flags;
	struct peer *peer;

	raw_spin_lock_irqsave(lock, flags);
	peer = find(address);
	if (peer) {
		*object = peer->object;
		*where = peer->where;
	}
	raw_spin_unlock_irqrestore(lock, flags);
	return peer;
}

bool kgcc_peer_none_of(unsigned long address)
{
	const struct peer *set = peers[kgcc_peer_set(address)];

	for (unsigned int i = 0; i < WAYS; i++)
		if (READ_ONCE(set[i].address) == address)
			return false;
	return true;
}

size_t kgcc_peer_bytes(void)
{
	return sizeof(peers);
}

static void forget(unsigned int set, unsigned long start, unsigned long end)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&locks[set], flags);
	for (unsigned int i = 0; i < WAYS; i++) {
		struct peer *peer = &peers[set][i];
		unsigned long where = (unsigned long)peer->where;

		if (peer->address && where >= start && where < end)
			WRITE_ONCE(peer->address, 0);
	}
	raw_spin_unlock_irqrestore(&locks[set], flags);
}

void kgcc_peer_forget(unsigned long start, unsigned long end)
{
	for (unsigned int set = 0; set < KGCC_PEER_SETS; set++)
		forget(set, start, end);
}
