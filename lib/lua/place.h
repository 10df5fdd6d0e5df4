/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Where in its source a script was when it was ended.  Compiled functions are known by the
 * instruction of their image; in the runtime, which the interpreter is a part of, Lua's stack
 * says which instruction has called it, or was the last one that jumped.
 */
#ifndef LIB_LUA_PLACE_H
#define LIB_LUA_PLACE_H

#include "link.h"

/* By the instruction @insn of the script's own image, whose @origins are known. */
#define PLACE_IN_RUNTIME	(~0U)

/*
 * Writes "name:line: ", or nothing if that is not known.  The arena is the script's: whatever
 * it has there is text of its own messages, and nothing else.
 */
void runtime_place(const struct runtime *runtime, const struct origins *origins, u32 insn,
		   char *text, size_t size);

#endif /* LIB_LUA_PLACE_H */
