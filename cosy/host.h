/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The interface between code that cosy-cc generates and the library.  Programs do not include it.
 */
#ifndef COSY_HOST_H
#define COSY_HOST_H

#include <stdint.h>

/*
 * A variable of the program that lies in the compound's data, at @offset; or, imported,
 * the place there of a copy of @pointer.
 */
struct cosy_variable {
	void **pointer;
	uint64_t offset;
};

/**
 * struct cosy_unit - the compounds of one source file
 * @file:       an image file, see file.h
 * @file_size:  bytes
 * @variables:  shared variables; the library sets the pointers by which the program uses them
 * @nvariables: how many
 * @imports:    variables that another file defines, see cosy_variable()
 * @nimports:   how many
 * @name:       of the source file
 * @next, @number: for the library only
 */
struct cosy_unit {
	const void *file;
	uint64_t file_size;
	const struct cosy_variable *variables;
	uint64_t nvariables;
	const struct cosy_variable *imports;
	uint64_t nimports;
	const char *name;
	struct cosy_unit *next;
	uint64_t number;
};

/* Called by a constructor, once for each unit. */
void cosy_unit(struct cosy_unit *unit);

/*
 * Called by a constructor, once for each variable that several files use through @pointer: moves it
 * into the shared buffer.
 */
void cosy_variable(void **pointer, uint64_t size, uint64_t align, const char *name);

/* @size bytes of this thread's memory in the shared buffer, until the matching cosy_pop(). */
void *cosy_push(uint64_t size);
void cosy_pop(void *frame);

/*
 * Runs segment @which in the kernel, if possible, otherwise @host(@frame). Returns the number of
 * the exit by which control left the segment.
 */
long cosy_call(struct cosy_unit *unit, long which, void *frame, long (*host)(void *));
/* As cosy_call(), for a segment with one exit. */
void cosy_run(struct cosy_unit *unit, long which, void *frame, long (*host)(void *));

/* For the library: called in a child of fork(2). */
void cosy_fork_child(void);

#endif /* COSY_HOST_H */
