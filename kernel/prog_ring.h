/* SPDX-License-Identifier: GPL-2.0 */
/* Rings: records that programs write, with bottom halves off, and processes read. */
#ifndef SYSCRIPT_PROG_RING_H
#define SYSCRIPT_PROG_RING_H

#include <linux/types.h>

struct prog_ring;
struct syscript_state;

/* Bytes that the ring takes. */
u64 prog_ring_size(const struct syscript_state *def);

/* NULL: out of memory. */
struct prog_ring *prog_ring_make(const struct syscript_state *def);
/* Frees the records; readers see the end. No program writes any more. */
void prog_ring_end(struct prog_ring *ring);

struct prog_ring *prog_ring_get(struct prog_ring *ring);
void prog_ring_put(struct prog_ring *ring);

/* Writes a record, its values at @values, which may change meanwhile. False: it was dropped. */
bool prog_ring_write(struct prog_ring *ring, const u64 *values);

/* A descriptor that reads the ring, of which it takes over the reference; or an ERR_PTR. */
struct file *prog_ring_open(struct prog_ring *ring);

#endif /* SYSCRIPT_PROG_RING_H */
