/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Batches (syscript_image_batch.h) that images make by IMAGE_CALL_BATCH. */
#ifndef CONFINED_BATCH_CALLS_H
#define CONFINED_BATCH_CALLS_H

#include "../include/uapi/syscript_image_batch.h"
#include "net/frames.h"
#include "port.h"

struct engine_vm;
struct mmsg;

/**
 * struct batches - state of a program's batches, kept between them
 * @messages: imported messages, by number - 1; not in the arena
 * @memory:   bytes of @messages
 * @ports:    ports of frames, by number - 1; they live as long as the program
 */
struct batches {
	struct mmsg *messages[IMAGE_MESSAGES_MAX];
	size_t memory;
	struct frames *ports[FRAMES_PORTS];
};

/* Makes batch @op, whose structure is at @address; to be called in a run. Returns r0. */
s64 batches_call(struct engine_vm *vm, u64 op, u64 address);

void batches_release(struct engine_vm *vm);

/* As batches_call(), for IMAGE_BATCH_FRAMES_*. */
s64 batches_frames_call(struct engine_vm *vm, u64 op, u64 address);

#endif /* CONFINED_BATCH_CALLS_H */
