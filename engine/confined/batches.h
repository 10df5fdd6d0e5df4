/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Batches for images: see syscript_image_batch.h. */
#ifndef CONFINED_BATCHES_H
#define CONFINED_BATCHES_H

#include "../include/uapi/syscript_image_batch.h"
#include "net/frames.h"
#include "port.h"

struct engine_vm;
struct mmsg;

/**
 * struct batches - what a program's batches keep from one to the next
 * @messages: what was imported, by its number less one: not in the arena
 * @memory:   bytes of it
 * @ports:    of frames, by their number less one; they live as long as the program
 */
struct batches {
	struct mmsg *messages[IMAGE_MESSAGES_MAX];
	size_t memory;
	struct frames *ports[FRAMES_PORTS];
};

/* In a run: batch @op with its structure at @address.  Returns r0. */
s64 batches_call(struct engine_vm *vm, u64 op, u64 address);

void batches_release(struct engine_vm *vm);

/* The same for IMAGE_BATCH_FRAMES_*. */
s64 batches_frames_call(struct engine_vm *vm, u64 op, u64 address);

#endif /* CONFINED_BATCHES_H */
