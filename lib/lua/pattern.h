/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Compiles constant patterns to functions, whose arguments and results are in layout.h. */
#ifndef LIB_LUA_PATTERN_H
#define LIB_LUA_PATTERN_H

#include "emit.h"
#include "bytecode.h"

/* Uses of a pattern, by the functions that search for it. */
enum pattern_kind {
	PATTERN,
	PATTERN_REPEATED,	/* string.gmatch(), where "^" stands for itself */
};

/**
 * struct pattern_form - the captures of a pattern
 * @count:     number of captures
 * @positions: bit i: capture i is a position
 * @anchored:  it can match at one position only
 */
struct pattern_form {
	uint32_t count, positions;
	bool anchored;
};

/* The captures of the pattern at @string, not of string.gmatch(). False: as below. */
bool pattern_parse(const struct runtime *runtime, uint64_t string, struct pattern_form *form);

/*
 * The number of the function for the pattern at @string and its use; 0 if the pattern must be
 * interpreted, because it is malformed, long, or uses rare items.
 */
uint32_t pattern_number(const struct runtime *runtime, uint64_t string, enum pattern_kind kind,
			struct pattern_form *form);

/* Adds the code of a numbered pattern; returns the bytes of its frame. */
void pattern_compile(const struct runtime *runtime, const struct pattern_use *use, struct emit *e,
		     uint32_t *frame);

#endif /* LIB_LUA_PATTERN_H */
