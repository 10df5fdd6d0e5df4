/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Data that the plugin writes into an instrumented module, for the runtime. The plugin writes
 * words, as it builds no structures of the target's; struct kgcc_site in kgcc.h is the runtime's
 * view of them.
 */
#ifndef KGCC_SITE_H
#define KGCC_SITE_H

/* Contains the layout's version: increase it with every change here. */
#define KGCC_MAGIC	0x6b670400u
#define KGCC_MAGIC_MASK	0xffffff00u

#define KGCC_READ	1u
#define KGCC_WRITE	2u
#define KGCC_ARITH	4u	/* a pointer is made, and used elsewhere */
#define KGCC_FRAME	8u	/* not a check: registers locals of a function */
#define KGCC_RULE	16u	/* a comparison of a rule */
#define KGCC_PAGE	32u	/* the pointer is to a page, which may hold objects */
#define KGCC_MEMBER	64u	/* an index outside an array member */
#define KGCC_LENGTH	128u	/* a length greater than a variable */

#define KGCC_SITE_KEY	0	/* struct static_key, two words */
#define KGCC_SITE_HI	2	/* bytes from the root, or from the address */
#define KGCC_SITE_FLAGS	3	/* lo as s32, and KGCC_MAGIC with the flags above */
#define KGCC_SITE_WHERE	4	/* file:line */
#define KGCC_SITE_PARTS	5	/* the accesses that it covers, if several */
#define KGCC_SITE_COUNT	6	/* hits and errors, u32 */
#define KGCC_SITE_NPARTS 7
#define KGCC_SITE_OBJECT 8	/* text for a variable of known size */
#define KGCC_SITE_UNIT	9	/* the variables of the file */
#define KGCC_SITE_WORDS	10

/* A part has three words: lo and hi as s64, the text of its file:line. */
#define KGCC_PART_WORDS	3

/* A variable has four: address, size, name, file:line; an address of 0 ends the list. */
#define KGCC_VARIABLE_WORDS 4

/* Registers that checks pass their arguments in, and clobber. */
#define KGCC_CLOBBERS	"r8", "r9", "r10", "r11"

#endif
