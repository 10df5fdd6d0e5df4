/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Compounds as scripts of the kernel's confined engine.
 */
#ifndef COSY_KERNEL_H
#define COSY_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/device.h"

/**
 * struct kernel_script - one, zeroed before
 * @registered: @fd is its descriptor
 * @id:         its number in the kernel
 */
struct kernel_script {
	bool registered;
	int fd;
	uint64_t id;
};

/* May this process use the engine? */
bool kernel_is_there(void);

/* Returns 0, or -errno with the reason in @error. */
int kernel_register(struct kernel_script *script, const void *image, size_t len,
		    const char *name, void *arena, size_t arena_size, char *error,
		    size_t error_len);

/* Calls @script with two arguments.  Returns 0 with the result in @value, or -errno. */
static inline int kernel_call(const struct kernel_script *script, long a, long b, long *value)
{
	struct syscript_call call;	/* what is not passed is not read */
	int err;

	device_call_begin(&call, 2);
	call.args[0] = a;
	call.args[1] = b;
	err = device_call(script->fd, &call);
	if (__builtin_expect(!err, 1))
		*value = call.results[0];
	return err;
}

/*
 * That call has returned @err.  Returns false if @script cannot be called now or in
 * this process, and nothing has run; or true, with the text in @error.
 */
bool kernel_has_failed(struct kernel_script *script, int err, char *error, size_t error_len);

void kernel_close_all(struct kernel_script *scripts, uint64_t n);

#endif /* COSY_KERNEL_H */
