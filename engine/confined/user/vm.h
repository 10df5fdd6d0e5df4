/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Images run in the process itself: for machines without the module, and to try
 * compounds under a debugger.  System calls are ordinary ones.
 */
#ifndef CONFINED_VM_H
#define CONFINED_VM_H

#include "place.h"

/**
 * struct user_image - an image ready to run
 * @deadline: when runs end, in ns of the process's CPU time; 0: never
 */
struct user_image {
	void *copy;
	struct checked checked;
	struct code code;
	u64 deadline;
};

/* Returns 0, -errno, or -ENOEXEC with the reason in @error. */
int user_image_load(struct user_image *image, const void *bytes, size_t len, char *error,
		    size_t error_len);
void user_image_release(struct user_image *image);

/*
 * Calls @image with @args on @arena, where its stack ends at @stack_end.  Returns
 * 0 with r0 in @value, or -EPROTO with the reason in @error.
 */
int user_image_call(const struct user_image *image, void *arena, u32 stack_end,
		    u32 stack_size, const u64 args[5], u64 *value, char *error,
		    size_t error_len);

/* For deadlines: ns. */
u64 user_time(void);

#endif /* CONFINED_VM_H */
