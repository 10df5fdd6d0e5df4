/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guarded objects that the kernel, not their module, frees: they were handed to it (kfree_rcu() of
 * the core, seq_file, skb heads, ...). The kernel's kfree() finds no slab, takes them for large
 * allocations and calls an internal function; that function is hooked. Other frees cost nothing.
 */
#ifndef KEFENCE_COREFREE_H
#define KEFENCE_COREFREE_H

int corefree_init(void);
void corefree_exit(void);

#endif /* KEFENCE_COREFREE_H */
