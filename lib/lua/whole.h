/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Lua as a program for a subsystem: run() of a script, and all that it calls, as one
 * image without a runtime: docs/design/programs.md.  What cannot be compiled is refused
 * with its line.
 */
#ifndef LIB_LUA_WHOLE_H
#define LIB_LUA_WHOLE_H

#include <stddef.h>
#include <stdint.h>

#include <linux/syscript.h>

/**
 * struct whole - a program for SYSCRIPT_IOC_LOAD
 * @image, @data, @lines: to be freed: whole_free()
 * @functions: names of those of the subsystem's that it calls
 * @copies:    bytes of a packet that it is shown
 * @sees:      what it reads of its view, as in struct syscript_load
 * @memory:    bytes of its arena
 * @error:     why it is refused
 */
struct whole {
	char *image, *data;
	size_t image_len, data_len;
	uint16_t *lines;
	uint32_t nlines;
	char functions[1024];
	size_t functions_len;
	uint32_t copies;
	uint64_t sees;
	size_t memory;
	char error[2048];
};

/*
 * Runs @source, which is called @name in texts, in this process, and compiles what it has
 * left for @subsystem, and @cpus processors.  0, or -errno with whole->error.
 */
int whole_compile(struct whole *whole, const char *name, const char *source, size_t len,
		  const char *subsystem, unsigned int cpus);
void whole_free(struct whole *whole);

#endif /* LIB_LUA_WHOLE_H */
