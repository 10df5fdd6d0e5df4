/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Patterns that are constants, as functions: layout.h has what they get and return.
 */
#ifndef LIB_LUA_PATTERN_H
#define LIB_LUA_PATTERN_H

#include "emit.h"
#include "read.h"

/* As what a text is looked for. */
enum pattern_kind {
	PATTERN,
	PATTERN_REPEATED,	/* of string.gmatch(), where "^" stands for itself */
};

/**
 * struct pattern_form - what its captures are
 * @count:     of captures
 * @positions: which of them are positions, by bits
 * @anchored:  it is looked for at one place only
 */
struct pattern_form {
	uint32_t count, positions;
	bool anchored;
};

/*
 * The number of the function of the pattern at @string, as which functions call it; 0 if it has
 * to be interpreted, as it is not well-formed, or long, or has what is rare.
 */
uint32_t pattern_number(const struct runtime *runtime, uint64_t string, enum pattern_kind kind,
			struct pattern_form *form);

/* Adds the code of a pattern that has a number, and says how much of the stack it takes. */
void pattern_compile(const struct runtime *runtime, const struct pattern_use *use, struct emit *e,
		     uint32_t *frame);

#endif /* LIB_LUA_PATTERN_H */
