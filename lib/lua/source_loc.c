// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Implements source_loc.h: finds the instruction by its number in the image, or on Lua's stack. */
#include <stdio.h>

#include "source_loc.h"

/* The most frames to search: frames of C functions are skipped. */
#define LEVELS_MOST	256
#define NAME_ROOM	256

/*
 * The instruction before a frame's saved pc, which is an address or, from compiled functions, an
 * index.
 */
static u64 pc_of(const struct runtime *runtime, u64 proto, u64 saved)
{
	if (saved >= COMPILED_PC_MAX)
		saved = (saved - runtime_word(runtime, proto + PROTO_CODE, 8)) / sizeof(u32);
	return saved ? saved - 1 : 0;
}

/* False if the function has no such instruction. */
static bool write_place(const struct runtime *runtime, u64 proto, u64 pc, char *text, size_t size)
{
	u64 lines = runtime_word(runtime, proto + PROTO_LINEINFO, 8);
	struct value source = { TAG_STRING, runtime_word(runtime, proto + PROTO_SOURCE, 8) };
	char name[NAME_ROOM];

	if (pc >= runtime_word(runtime, proto + PROTO_SIZECODE, 4))
		return false;
	runtime_text(runtime, source, name, sizeof(name));
	/* Other chunks are named by their text, so nothing is written. */
	if (*name == '@' || *name == '=')
		snprintf(text, size, "%s:%u: ", name + 1,
			 (u32)runtime_word(runtime, lines + pc * sizeof(u32), sizeof(u32)));
	return true;
}

static const struct origin *find_origin(const struct origins *origins, u32 insn)
{
	u32 low = 0, high = origins->n, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (origins->at[middle].insn <= insn)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &origins->at[low - 1] : NULL;
}

/*
 * Finds the running Lua function, or the one that called the running C functions. Lua's current
 * pc may still be the caller's if a function has just begun: then the caller is reported. Before
 * compiled code calls a @matcher of a pattern, it stores its pc in its frame.
 */
static void place_by_stack(const struct runtime *runtime, bool matcher, char *text, size_t size)
{
	u64 ci = runtime_word(runtime, runtime->state + STATE_CI, 8);
	u64 saved = matcher ? runtime_word(runtime, ci + CI_SAVEDPC, 8) :
			      runtime_word(runtime, runtime->state + STATE_SAVEDPC, 8);
	u64 proto;
	struct value f;
	int level;

	for (level = 0; level < LEVELS_MOST; level++, ci -= CI_SIZE) {
		if (level)
			saved = runtime_word(runtime, ci + CI_SAVEDPC, 8);
		f = runtime_value(runtime, runtime_word(runtime, ci + CI_FUNC, 8));
		/* The innermost frame may be incomplete. */
		if (f.tag != TAG_FUNCTION && level)
			return;
		if (f.tag != TAG_FUNCTION || runtime_word(runtime, f.bits + CLOSURE_IS_C, 1))
			continue;
		proto = runtime_word(runtime, f.bits + CLOSURE_F, 8);
		if (write_place(runtime, proto, pc_of(runtime, proto, saved), text, size))
			return;
	}
}

void runtime_place(const struct runtime *runtime, const struct origins *origins, u32 insn,
		   const u64 ended[2], char *text, size_t size)
{
	const struct origin *origin;

	*text = '\0';
	origin = insn == PLACE_IN_RUNTIME ? NULL : find_origin(origins, insn);
	if (origin && origin->proto > SHARED_PROTO)
		write_place(runtime, (uintptr_t)runtime->arena + origin->proto, origin->pc, text,
			    size);
	else if (ended[0])
		write_place(runtime, ended[0], pc_of(runtime, ended[0], ended[1]), text, size);
	else
		place_by_stack(runtime, origin && origin->proto == NO_PROTO, text, size);
}
