// SPDX-License-Identifier: GPL-2.0
/*
 * Runs one instruction, or a sequence, on this processor: prove.py compares the resulting
 * registers, flags and memory with its model.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PUBLIC __attribute__((visibility("default")))
#define PAGE 4096

/* Follows the page with the code, at a fixed distance. */
struct data {
	uint64_t in[16], out[16], flags, flags_out, saved;
};

static uint8_t *room;

static uint8_t *put(uint8_t *p, const void *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* @op with @reg, or the rest of the opcode; its operand is the word of struct data at @at. */
static uint8_t *put_data(uint8_t *p, uint8_t rex, uint8_t op, unsigned int reg, size_t at)
{
	int32_t distance;

	if (rex)
		*p++ = rex | (reg >> 3) << 2;
	*p++ = op;
	*p++ = 5 | (reg & 7) << 3;
	distance = room + PAGE + at - (p + 4);
	return put(p, &distance, 4);
}

#define IN(reg)		(offsetof(struct data, in) + 8 * (reg))
#define OUT(reg)	(offsetof(struct data, out) + 8 * (reg))

static uint8_t *put_begin(uint8_t *p)
{
	static const uint8_t saves[] = { 0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57 };
	unsigned int reg;

	p = put(p, saves, sizeof(saves));
	p = put_data(p, 0x48, 0x89, 4, offsetof(struct data, saved));
	p = put_data(p, 0, 0xff, 6, offsetof(struct data, flags));
	*p++ = 0x9d;				/* popfq */
	for (reg = 0; reg < 16; reg++)
		if (reg != 4)
			p = put_data(p, 0x48, 0x8b, reg, IN(reg));
	return put_data(p, 0x48, 0x8b, 4, IN(4));
}

static void put_end(uint8_t *p)
{
	static const uint8_t restores[] = {
		0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3
	};
	unsigned int reg;

	for (reg = 0; reg < 16; reg++)
		p = put_data(p, 0x48, 0x89, reg, OUT(reg));
	p = put_data(p, 0x48, 0x8b, 4, offsetof(struct data, saved));
	*p++ = 0x9c;				/* pushfq */
	p = put_data(p, 0, 0x8f, 0, offsetof(struct data, flags_out));
	put(p, restores, sizeof(restores));
}

/* Maps memory at @address for instructions to use. 0, or -1. */
PUBLIC int native_map(uint64_t address, uint64_t size);
int native_map(uint64_t address, uint64_t size)
{
	void *p = mmap((void *)address, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return p == (void *)address ? 0 : -1;
}

/* Updates @regs, whose rsp must point into such memory, and @flags. 0, or -1. */
PUBLIC int native_run(const uint8_t *code, size_t len, uint64_t *regs, uint64_t *flags);
int native_run(const uint8_t *code, size_t len, uint64_t *regs, uint64_t *flags)
{
	struct data *data;
	uint8_t *p;

	if (!room) {
		room = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (room == MAP_FAILED)
			return -1;
	}
	data = (struct data *)(room + PAGE);
	memcpy(data->in, regs, sizeof(data->in));
	data->flags = (*flags & 0x8c5) | 2;	/* overflow, sign, zero, parity, carry */
	p = put(put_begin(room), code, len);
	put_end(p);
	((void (*)(void))room)();
	memcpy(regs, data->out, sizeof(data->out));
	*flags = data->flags_out;
	return 0;
}
