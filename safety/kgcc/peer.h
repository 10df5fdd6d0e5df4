/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_PEER_H
#define KGCC_PEER_H

#include "check.h"

/*
 * Peers: addresses outside of an object that were computed from it.  Arithmetic may
 * go on from there, and come back; to access memory there is an error.
 */
void kgcc_peer_add(unsigned long address, const struct kgcc_object *object, const char *where);

/* Whose peer an address is, and where it became one. */
bool kgcc_peer_find(unsigned long address, struct kgcc_object *object, const char **where);

/* Addresses whose lookups are kept in one slot share a set of peers. */
#define KGCC_PEER_SETS	256u

static inline unsigned int kgcc_peer_set(unsigned long address)
{
	return kgcc_slot(address) % KGCC_PEER_SETS;
}

/* Of each set: a bit for the address of each peer. */
extern u64 kgcc_peers[KGCC_PEER_SETS];

static inline u64 kgcc_peer_bit(unsigned long address)
{
	return 1ull << (address >> 3 & 63);
}

bool kgcc_peer_none_of(unsigned long address);

/* Whether lookups of an address may be kept for the next time. */
static inline bool kgcc_peer_none(unsigned long address)
{
	return !(READ_ONCE(kgcc_peers[kgcc_peer_set(address)]) & kgcc_peer_bit(address)) ||
	       kgcc_peer_none_of(address);
}

/* Drop those made at texts in a range: their module goes. */
void kgcc_peer_forget(unsigned long start, unsigned long end);

size_t kgcc_peer_bytes(void);

#endif
