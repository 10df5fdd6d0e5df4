/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Finds the source line at which a script was ended. In compiled functions the image's
 * instruction gives the line. In the runtime, which includes the interpreter, Lua's stack has the
 * instruction that called it, or that jumped last.
 */
#ifndef LIB_LUA_SOURCE_LOC_H
#define LIB_LUA_SOURCE_LOC_H

#include "link.h"

/* Writes the line of instruction @insn of the script's own image, with known @origins. */
#define PLACE_IN_RUNTIME	(~0U)

/*
 * Writes "name:line: ", or nothing if the line is unknown. The script may have written anything
 * to the arena: at worst its own error message is wrong. @ended: of struct runtime_call.
 */
void runtime_place(const struct runtime *runtime, const struct origins *origins, u32 insn,
		   const u64 ended[2], char *text, size_t size);

#endif /* LIB_LUA_SOURCE_LOC_H */
