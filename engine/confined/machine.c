// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Implements machine.h: prepares a machine for a run, and explains how a run ended. */
#include "../include/uapi/syscript_image.h"
#include "machine.h"

#define AT(offset, field) \
	_Static_assert(offsetof(struct machine, field) == (offset), #field)
AT(MACHINE_AT_FUEL, fuel);
AT(MACHINE_AT_STACK, stack);
AT(MACHINE_AT_NATIVE, native);
AT(MACHINE_AT_USER, user);
AT(MACHINE_AT_BASE, base);
AT(MACHINE_AT_TRY, try_sp);
AT(MACHINE_AT_HOME, home);
AT(MACHINE_AT_END, end);
AT(MACHINE_AT_PC, pc);
AT(MACHINE_AT_VALUE, value);
AT(MACHINE_AT_ARGS, args);
AT(MACHINE_AT_FRAME, frame);
AT(MACHINE_AT_NATIVE_SIZE, native_size);
AT(MACHINE_AT_RUN, run);
AT(MACHINE_AT_FLAGS, flags);
AT(MACHINE_AT_RARE, rare);
AT(MACHINE_AT_CLOCK, clock);
AT(MACHINE_AT_SEEN, seen);
AT(MACHINE_AT_BEYOND, beyond);
AT(MACHINE_AT_ENTRY, entry);
AT(MACHINE_AT_BUDGET, budget);
AT(MACHINE_AT_ATOMIC, atomic);
AT(MACHINE_AT_NATIVE_TOP, native_top);

/* stubs.S */
extern const u8 confined_fault_function[];

void machine_init(struct machine *machine, const struct image_header *image)
{
	machine->stack = image->stack_end - image->stack_size;
	machine->frame = image->stack_end;
	machine->native_size = image->native_size ?: IMAGE_NATIVE_DEFAULT;
	machine->rare = 1;
	machine->flags = &machine->rare;
	machine->clock = &machine->seen;
	machine->beyond = (unsigned long)confined_fault_function;
	machine_begin(machine);
}

void machine_text(const struct machine *machine, char *text, size_t len)
{
	switch (machine->end) {
	case MACHINE_STACK:
		snprintf(text, len, "insn %u: the stack is full", machine->pc);
		break;
	case MACHINE_MEMORY:
		snprintf(text, len, "insn %u: no memory for the stack", machine->pc);
		break;
	case MACHINE_FUNCTION:
		snprintf(text, len, "insn %u: calls a function that does not exist",
			 machine->pc);
		break;
	case MACHINE_THROW:
		snprintf(text, len, "insn %u: throws %lld, which nothing catches",
			 machine->pc, (long long)machine->value);
		break;
	case MACHINE_ACCESS:
		snprintf(text, len, "insn %u: accesses 0x%llx, outside of the arena",
			 machine->pc, (unsigned long long)machine->value);
		break;
	case MACHINE_ABORT:
		snprintf(text, len, "insn %u: aborts with %lld", machine->pc,
			 (long long)machine->value);
		break;
	default:
		snprintf(text, len, "insn %u: stopped", machine->pc);
	}
}
