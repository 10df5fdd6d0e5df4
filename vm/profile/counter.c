// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A QEMU plugin that counts how often a guest executes each instruction between the marks of
 * mark.h.
 *
 * usage: qemu-system-x86_64 -plugin counter.so,out=FILE ...
 *
 * At the guest's end FILE has a line for each address that was executed: the
 * address in hexadecimal, the count.  It is empty if there was no mark.  FILE.modes has a line for
 * each pair of marks, in their order: instructions in user mode, in the kernel's.
 *
 * It counts blocks instead of instructions, which is several times as fast; if an instruction
 * faults, the rest of its block is counted twice.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mark.h"
#include "qemu_plugin.h"

/* Instructions that are executed one after the other. */
struct block {
	struct block *next;
	uint64_t executed, counted;	/* since the last mark; between marks */
	size_t n;
	uint64_t addresses[];
};

struct count {
	uint64_t address, count;
};

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* The kernel's addresses: the upper half. */
#define KERNEL_HALF	(UINT64_C(1) << 63)

static struct block *blocks;
static const char *out;
static FILE *modes;

/* -- Between marks -------------------------------------------------------------- */

static void begin(unsigned int vcpu, void *data)
{
	(void)vcpu, (void)data;
	for (struct block *block = blocks; block; block = block->next)
		block->executed = 0;
}

static void end(unsigned int vcpu, void *data)
{
	uint64_t user = 0, kernel = 0;

	(void)vcpu, (void)data;
	for (struct block *block = blocks; block; block = block->next) {
		*(block->addresses[0] & KERNEL_HALF ? &kernel : &user) +=
			block->executed * block->n;
		block->counted += block->executed;
		block->executed = 0;
	}
	fprintf(modes, "%" PRIu64 " %" PRIu64 "\n", user, kernel);
}

/* Which mark an instruction is; 0: none. */
static uint32_t mark_of(const struct qemu_plugin_insn *insn)
{
	static const uint8_t opcode[] = { MARK_OPCODE };
	const uint8_t *text = qemu_plugin_insn_data(insn);
	uint32_t mark;

	if (qemu_plugin_insn_size(insn) == sizeof(mark)) {
		memcpy(&mark, text, sizeof(mark));
		return mark == MARK_ARM64(MARK_BEGIN) ? MARK_BEGIN :
		       mark == MARK_ARM64(MARK_END) ? MARK_END : 0;
	}
	if (qemu_plugin_insn_size(insn) != sizeof(opcode) + sizeof(mark) ||
	    memcmp(text, opcode, sizeof(opcode)))
		return 0;
	memcpy(&mark, text + sizeof(opcode), sizeof(mark));
	return mark == MARK_BEGIN || mark == MARK_END ? mark : 0;
}

/* Never freed: its code has been executed, even if it no longer exists. */
static struct block *new_block(const struct qemu_plugin_tb *tb, size_t first, size_t n)
{
	struct block *block = calloc(1, sizeof(*block) + n * sizeof(block->addresses[0]));

	if (!block)
		abort();
	block->n = n;
	for (size_t i = 0; i < n; i++)
		block->addresses[i] =
			qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, first + i));
	block->next = blocks;
	blocks = block;
	return block;
}

/* Counts the instructions one by one, because only some are between marks. */
static void translated_with_mark(struct qemu_plugin_tb *tb)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t mark = mark_of(insn);

		if (mark)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, mark == MARK_BEGIN ? begin : end,
				QEMU_PLUGIN_CB_NO_REGS, NULL);
		else
			qemu_plugin_register_vcpu_insn_exec_inline(
				insn, QEMU_PLUGIN_INLINE_ADD_U64,
				&new_block(tb, i, 1)->executed, 1);
	}
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < n; i++) {
		if (mark_of(qemu_plugin_tb_get_insn(tb, i))) {
			translated_with_mark(tb);
			return;
		}
	}
	qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64,
						 &new_block(tb, 0, n)->executed, 1);
}

/* -- The result ----------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct count *)a)->address;
	uint64_t y = ((const struct count *)b)->address;

	return (x > y) - (x < y);
}

/* The instructions of all counted blocks, by address; some may be in several blocks. */
static struct count *sorted(size_t *n)
{
	struct count *counts, *to;

	*n = 0;
	for (struct block *block = blocks; block; block = block->next)
		*n += block->counted ? block->n : 0;
	to = counts = malloc((*n + 1) * sizeof(*counts));
	if (!counts)
		abort();
	for (struct block *block = blocks; block; block = block->next)
		for (size_t i = 0; block->counted && i < block->n; i++)
			*to++ = (struct count){ block->addresses[i], block->counted };
	qsort(counts, *n, sizeof(*counts), by_address);
	return counts;
}

static void write_counts(qemu_plugin_id_t id, void *data)
{
	FILE *file = fopen(out, "w");
	struct count *counts;
	size_t n;

	(void)id, (void)data;
	counts = sorted(&n);
	for (size_t i = 0; file && i < n; i++) {
		uint64_t sum = counts[i].count;

		while (i + 1 < n && counts[i + 1].address == counts[i].address)
			sum += counts[++i].count;
		fprintf(file, "%" PRIx64 " %" PRIu64 "\n", counts[i].address, sum);
	}
	if (!file || fclose(file) || fclose(modes))
		fprintf(stderr, "counter: %s cannot be written\n", out);
	free(counts);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv)
{
	char name[4096];

	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", strlen("out="))) {
		fprintf(stderr, "usage: -plugin counter.so,out=FILE\n");
		return -1;
	}
	out = strdup(argv[0] + strlen("out="));
	snprintf(name, sizeof(name), "%s.modes", out);
	modes = fopen(name, "w");
	if (!modes) {
		perror(name);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, write_counts, NULL);
	return 0;
}
