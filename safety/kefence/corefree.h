/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guarded objects that the kernel frees, not their module: what it was given to
 * free in time (kfree_rcu() of the core, seq_file, skb heads, ...).  kfree() takes
 * them for large allocations, as they are in no slab, and passes them on to a
 * function of its own; that is where they are caught.  Other frees pay nothing.
 */
#ifndef KEFENCE_COREFREE_H
#define KEFENCE_COREFREE_H

int corefree_init(void);
void corefree_exit(void);

#endif /* KEFENCE_COREFREE_H */
