/* SPDX-License-Identifier: GPL-2.0 */
#include <cosy.h>

struct totals {
	long bytes, calls;
	const char *last;
	char name[16];
};

extern COSY_VARIABLE long count;
extern COSY_VARIABLE struct totals totals;
extern COSY_VARIABLE char text[];		/* its size is known in another file */
extern COSY_VARIABLE volatile int stop;
extern COSY_VARIABLE int own;
extern COSY_VARIABLE _Atomic long together;

void reset(void);
long *address_of_count(void);
void show(const char *when);
