/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Typical compute kernels in plain C, which bench/confined_c measures. The source is compiled
 * twice, by gcc -O2 and by cosy-cc with each kernel as a compound.
 */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdint.h>

#define KERNEL_TEXT	1024
#define KERNEL_WORDS	128
#define KERNEL_SLOTS	512	/* a power of 2 */
#define KERNEL_NAMES	16

/* Data of the kernels, in the shared buffer. */
struct kernel_data {
	uint64_t seed;
	char pattern[16];
	unsigned char prose[KERNEL_TEXT];	/* lines of words */
	unsigned char utf8[KERNEL_TEXT];	/* characters of all lengths, valid */
	unsigned char json[KERNEL_TEXT];
	unsigned char csv[KERNEL_TEXT];		/* of numbers */
	unsigned char url[KERNEL_TEXT];
	unsigned char packed[KERNEL_TEXT];	/* an LZ4 block */
	unsigned char varints[KERNEL_TEXT];
	uint32_t packed_len, varints_len;
	char names[KERNEL_NAMES][24];		/* sorted */
	uint64_t words[KERNEL_WORDS];
	uint32_t crc_table[256];
	/* Output of the kernels, all of which is compared. */
	uint64_t work[KERNEL_SLOTS];
	uint32_t slots[KERNEL_SLOTS];
	unsigned char out[2 * KERNEL_TEXT];
};

/* Each makes @count steps and returns a result that does not depend on how it runs. */
typedef long kernel_loop(struct kernel_data *data, long count);

/* In the order of kernels.def. */
extern kernel_loop *const kernels_plain[], *const kernels_confined[];

#endif /* KERNELS_H */
