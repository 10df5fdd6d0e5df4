/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Compiles Lua to a program for a subsystem: run() of a script, and the functions that it calls,
 * become one image without a runtime: docs/design/programs.md. Code that cannot be compiled is
 * refused with its line.
 */
#ifndef LIB_LUA_AOT_H
#define LIB_LUA_AOT_H

#include <stddef.h>
#include <stdint.h>

#include <linux/syscript.h>

/**
 * struct aot - a program for SYSCRIPT_IOC_LOAD
 * @image, @data, @lines: to be freed: aot_free()
 * @functions: names of the subsystem's functions that it calls
 * @copies:    bytes of a packet that are copied to its view
 * @sees:      the bytes of its view that it reads, as in struct syscript_load
 * @memory:    bytes of its arena, and of its rings
 * @states:    tables and rings that it shares with other programs
 * @error:     the reason for a refusal
 */
struct aot {
	char *image, *data;
	size_t image_len, data_len;
	uint16_t *lines;
	uint32_t nlines;
	char functions[1024];
	size_t functions_len;
	uint32_t copies;
	uint64_t sees;
	size_t memory;
	struct syscript_state states[SYSCRIPT_STATES_MAX];
	uint32_t nstates;
	char error[2048];
};

/*
 * Runs @source, which error texts call @name, in this process, and compiles the result for
 * @subsystem and @cpus CPUs. 0, or -errno with whole->error.
 */
int aot_compile(struct aot *whole, const char *name, const char *source, size_t len,
		  const char *subsystem, unsigned int cpus);
void aot_free(struct aot *whole);

#endif /* LIB_LUA_AOT_H */
