/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_OOB_POINTER_H
#define KGCC_OOB_POINTER_H

#include "check.h"

/*
 * Peers: addresses outside an object that were computed from a pointer to it. Further arithmetic on
 * a peer may return into the object; accessing memory through it is an error.
 */
void kgcc_peer_add(unsigned long address, const struct kgcc_object *object, const char *where);

/* The object that an address is a peer of, and where it became one. */
bool kgcc_peer_find(unsigned long address, struct kgcc_object *object, const char **where);

/* Addresses whose lookups share a cache slot share a set of peers. */
#define KGCC_PEER_SETS	256u

static inline unsigned int kgcc_peer_set(unsigned long address)
{
	return kgcc_slot(address) % KGCC_PEER_SETS;
}

/* For each set, the bits of its peers' addresses. */
extern u64 kgcc_peers[KGCC_PEER_SETS];

static inline u64 kgcc_peer_bit(unsigned long address)
{
	return 1ull << (address >> 3 & 63);
}

bool kgcc_peer_none_of(unsigned long address);

/* Whether the lookup of an address may be cached. */
static inline bool kgcc_peer_none(unsigned long address)
{
	return !(READ_ONCE(kgcc_peers[kgcc_peer_set(address)]) & kgcc_peer_bit(address)) ||
	       kgcc_peer_none_of(address);
}

/* Drops peers made at places (text addresses) in a range: their module is unloaded. */
void kgcc_peer_forget(unsigned long start, unsigned long end);

size_t kgcc_peer_bytes(void);

#endif
