/* SPDX-License-Identifier: GPL-2.0 */
/* Accesses of instrumented modules. */
#ifndef RACEWATCH_ACCESS_H
#define RACEWATCH_ACCESS_H

#include <linux/types.h>

/**
 * struct access - an access, or the part of it that is in one granule (watch.h)
 * @size:   bytes
 * @whole:  bytes of the whole access
 * @marked: volatile, or in a region of regions.h: the source says that others access it, too
 * @ip:     the return address of the compiler's call
 */
struct access {
	unsigned long addr, ip;
	u32 size, whole;
	bool write, marked;
};

#endif
