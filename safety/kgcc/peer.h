/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KGCC_PEER_H
#define KGCC_PEER_H

#include "kgcc.h"

/*
 * Peers: addresses outside of an object that were computed from it.  Arithmetic may
 * go on from there, and come back; to access memory there is an error.
 */
void kgcc_peer_add(unsigned long address, const struct kgcc_object *object, const char *where);

/* Whose peer an address is, and where it became one. */
bool kgcc_peer_find(unsigned long address, struct kgcc_object *object, const char **where);

/* Whether lookups of an address may be kept for the next time. */
bool kgcc_peer_none(unsigned long address);

/* Drop those made at texts in a range: their module goes. */
void kgcc_peer_forget(unsigned long start, unsigned long end);

#endif
