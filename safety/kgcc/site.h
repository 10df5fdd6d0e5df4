/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the plugin writes into an instrumented module, and the runtime reads there.
 * The plugin writes words, as it builds no structures of the target's; struct
 * kgcc_site in kgcc.h is what the runtime makes of them.
 */
#ifndef KGCC_SITE_H
#define KGCC_SITE_H

/* With the layout's number, which goes up with every change here. */
#define KGCC_MAGIC	0x6b670400u
#define KGCC_MAGIC_MASK	0xffffff00u

#define KGCC_READ	1u
#define KGCC_WRITE	2u
#define KGCC_ARITH	4u	/* a pointer is made, and used out of our sight */
#define KGCC_FRAME	8u	/* not a check: locals of a function are registered */
#define KGCC_RULE	16u	/* a comparison that a rule asks for */
#define KGCC_PAGE	32u	/* the pointer is of a page, in which objects may be */
#define KGCC_MEMBER	64u	/* an index is outside of a member that is an array */
#define KGCC_LENGTH	128u	/* more bytes than a variable has */

#define KGCC_SITE_KEY	0	/* struct static_key, two words */
#define KGCC_SITE_HI	2	/* bytes from the root, or from the address */
#define KGCC_SITE_FLAGS	3	/* lo as s32, and KGCC_MAGIC with the flags above */
#define KGCC_SITE_WHERE	4	/* file:line */
#define KGCC_SITE_PARTS	5	/* the accesses that it covers, if there are several */
#define KGCC_SITE_COUNT	6	/* hits and errors, u32 */
#define KGCC_SITE_NPARTS 7
#define KGCC_SITE_OBJECT 8	/* a text, for a variable of known size */
#define KGCC_SITE_UNIT	9	/* the variables of the file */
#define KGCC_SITE_WORDS	10

/* A part is of three words: lo and hi as s64, the text of its file:line. */
#define KGCC_PART_WORDS	3

/* So are variables: address, size, name, file:line; an address of 0 ends the list. */
#define KGCC_VARIABLE_WORDS 4

/* Registers that checks pass their arguments in, and change. */
#define KGCC_CLOBBERS	"r8", "r9", "r10", "r11"

#endif
