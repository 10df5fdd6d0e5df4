// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implements request.h: unknown flags, bad names and non-zero reserved fields are refused, so
 * that they can get a meaning later.  For both the module and libsyscript.
 */
#include "platform.h"
#include "request.h"
#include "../include/uapi/syscript.h"
#include "../include/uapi/syscript_table.h"

/* Names are shown in lists and in the log: one line, no escapes. */
static bool is_text(const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size && text[i]; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return i < size;
}

static bool is_name(const char *name)
{
	return is_text(name, SYSCRIPT_NAME_LEN);
}

static bool is_rights(const struct syscript_register *reg)
{
	u64 given = reg->libraries;
	size_t i;

	for (i = 0; i < SYSCRIPT_CALLS_WORDS; i++)
		given |= reg->calls[i];
	return !reg->reserved2 && !(reg->libraries & ~SYSCRIPT_LIBRARIES) &&
	       (reg->flags & SYSCRIPT_ONLY || !given);
}

static bool request_is_base(const struct syscript_register *reg)
{
	bool base = reg->flags & SYSCRIPT_BASE, extends = reg->flags & SYSCRIPT_EXTENDS;

	if ((reg->base && !extends) || (base && extends))
		return false;
	/* Bases of the machine have no process, and no rights to limit. */
	if (base && reg->flags & SYSCRIPT_SHARED)
		return reg->flags == (SYSCRIPT_BASE | SYSCRIPT_SHARED);
	return extends || !(reg->flags & SYSCRIPT_SHARED);
}

int request_check_register(const struct syscript_register *reg)
{
	if (reg->flags & ~SYSCRIPT_FLAGS || reg->reserved)
		return -EINVAL;
	if (!is_rights(reg) || !request_is_base(reg))
		return -EINVAL;
	if (!reg->image_len || (!reg->error && reg->error_len))
		return -EINVAL;
	if (reg->image_len > SYSCRIPT_IMAGE_MAX)
		return -E2BIG;
	return is_name(reg->name) ? 0 : -EINVAL;
}

int request_check_call(const struct syscript_call *call)
{
	if (call->flags & ~SYSCRIPT_CALL_FLAGS || call->state ||
	    call->nargs > SYSCRIPT_ARGS_MAX)
		return -EINVAL;
	return 0;
}

int request_check_info(const struct syscript_info *info)
{
	size_t i;

	for (i = 0; i < sizeof(info->reserved) / sizeof(info->reserved[0]); i++)
		if (info->reserved[i])
			return -EINVAL;
	return 0;
}

int request_check_load(const struct syscript_load *load)
{
	if (load->flags & ~SYSCRIPT_LOAD_FLAGS || load->zero || load->zero2 || load->zero3 ||
	    load->nstates > SYSCRIPT_STATES_MAX ||
	    (!load->error && load->error_len))
		return -EINVAL;
	if (load->lines_len % sizeof(__u16) || load->lines_len > SYSCRIPT_LINES_MAX)
		return -EINVAL;
	if (!load->image_len || load->functions_len > SYSCRIPT_FUNCTION_NAMES_MAX)
		return -EINVAL;
	if (load->image_len > SYSCRIPT_IMAGE_MAX)
		return -E2BIG;
	return load->name[0] && is_name(load->name) && is_name(load->subsystem) &&
	       is_text(load->where, sizeof(load->where)) ? 0 : -EINVAL;
}

static bool is_power_of_2_in(__u32 n, __u32 low, __u32 high)
{
	return n >= low && n <= high && !(n & (n - 1));
}

static bool is_ring(const struct syscript_state *state)
{
	return is_power_of_2_in(state->entries, SYSCRIPT_TABLE_WAYS, SYSCRIPT_RING_RECORDS_MAX) &&
	       state->value_size && !(state->value_size % 8) &&
	       state->value_size <= 8 * SYSCRIPT_RING_VALUES_MAX &&
	       !state->key_size && !state->age;
}

int request_check_events(const struct syscript_events *events)
{
	if (events->flags || events->reserved[0] || events->reserved[1])
		return -EINVAL;
	return is_name(events->name) ? 0 : -EINVAL;
}

int request_check_state(const struct syscript_state *state)
{
	if (state->zero || !state->name[0] || !is_name(state->name) ||
	    !is_text(state->fields, sizeof(state->fields)))
		return -EINVAL;
	if (state->kind == SYSCRIPT_STATE_RING)
		return is_ring(state) ? 0 : -EINVAL;
	return state->kind == SYSCRIPT_STATE_TABLE &&
	       is_power_of_2_in(state->entries, SYSCRIPT_TABLE_WAYS, SYSCRIPT_STATE_ENTRIES_MAX) &&
	       state->key_size && state->key_size <= SYSCRIPT_TABLE_KEY_MAX &&
	       state->value_size <= SYSCRIPT_TABLE_VALUE_MAX ? 0 : -EINVAL;
}

int request_check_unload(const struct syscript_unload *unload)
{
	if (unload->flags || unload->zero || unload->reserved[0] || unload->reserved[1])
		return -EINVAL;
	return is_name(unload->name) ? 0 : -EINVAL;
}

int request_check_invoke(const struct syscript_invoke *invoke)
{
	if (invoke->flags || invoke->reserved || (!invoke->error && invoke->error_len) ||
	    (!invoke->data && invoke->data_len) ||
	    invoke->data_len > SYSCRIPT_INVOKE_DATA_MAX)
		return -EINVAL;
	return invoke->nargs <= SYSCRIPT_INVOKE_ARGS_MAX && is_name(invoke->name) ? 0 : -EINVAL;
}
