// SPDX-License-Identifier: GPL-2.0
/*
 * Between user_access_begin() and user_access_end() the kernel may access user memory, and no
 * function may be called. A check there closes the access and reopens it, by copies of the
 * function's own instructions, because these differ from kernel to kernel.
 */
#include "check.h"

/* The function's first STAC and CLAC, and the blocks that begin with access open. */
static gasm *stac, *clac;
static bitmap open_at_start;

static bool is_asm(gimple *stmt, const char *name, const char *bytes)
{
	gasm *code = dyn_cast<gasm *>(stmt);
	const char *text = code ? gimple_asm_string(code) : "";

	return strstr(text, name) || strstr(text, bytes);
}

static bool is_stac(gimple *stmt)
{
	return is_asm(stmt, "stac", "0x0f,0x01,0xcb");
}

static bool is_clac(gimple *stmt)
{
	return is_asm(stmt, "clac", "0x0f,0x01,0xca");
}

/* Whether access is open before a statement of a block, or at its end. */
static bool is_open(basic_block bb, gimple *end)
{
	bool open = bitmap_bit_p(open_at_start, bb->index);

	for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi) && gsi_stmt(gsi) != end; gsi_next(&gsi))
		if (is_stac(gsi_stmt(gsi)))
			open = true;
		else if (is_clac(gsi_stmt(gsi)))
			open = false;
	return open;
}

static void find_both(function *fun)
{
	basic_block bb;

	stac = clac = NULL;
	FOR_EACH_BB_FN(bb, fun) {
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			if (!stac && is_stac(gsi_stmt(gsi)))
				stac = as_a<gasm *>(gsi_stmt(gsi));
			if (!clac && is_clac(gsi_stmt(gsi)))
				clac = as_a<gasm *>(gsi_stmt(gsi));
		}
	}
}

void find_user_access(function *fun)
{
	bool changed = true;
	edge_iterator iterator;
	basic_block bb;
	edge e;

	find_both(fun);
	if (!stac || !clac)
		return;
	open_at_start = BITMAP_ALLOC(NULL);
	while (changed) {
		changed = false;
		FOR_EACH_BB_FN(bb, fun)
			if (is_open(bb, NULL))
				FOR_EACH_EDGE(e, iterator, bb->succs)
					changed |= bitmap_set_bit(open_at_start, e->dest->index);
	}
}

void forget_user_access(void)
{
	BITMAP_FREE(open_at_start);
}

bool has_user_access(basic_block bb, gimple *before)
{
	return open_at_start && is_open(bb, before);
}

static gimple *copy_of(gasm *original)
{
	gimple *copy = gimple_copy(original);

	gimple_set_vuse(copy, NULL_TREE);
	gimple_set_vdef(copy, NULL_TREE);
	return copy;
}

gimple *end_user_access(void)
{
	return copy_of(clac);
}

gimple *begin_user_access(void)
{
	return copy_of(stac);
}

/* For checks inserted before it was known where access is open. */
void close_user_access(function *fun, bool (*calls)(gimple *stmt))
{
	basic_block bb;

	if (!open_at_start)
		return;
	FOR_EACH_BB_FN(bb, fun) {
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
			if (!calls(gsi_stmt(gsi)) || !has_user_access(bb, gsi_stmt(gsi)))
				continue;
			gsi_insert_before(&gsi, end_user_access(), GSI_SAME_STMT);
			gsi_insert_after(&gsi, begin_user_access(), GSI_NEW_STMT);
		}
	}
}
